"""Things that a request names outright: `Preference: …`, `Fact: …`, `Decision: …`."""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from understudy.learnings.found_statements import FoundStatement, screened
from understudy.learnings.model import CapturePath, Kind
from understudy.learnings.quotations import TAG, Span, pasted, quoted

CONFIDENCE: Final = 98
LABELS: Final[Mapping[str, Kind]] = {
    "preference": Kind.PREFERENCE,
    "fact": Kind.FACT,
    "decision": Kind.DECISION,
    "sở thích": Kind.PREFERENCE,
    "sự thật": Kind.FACT,
    "quyết định": Kind.DECISION,
    "偏好": Kind.PREFERENCE,
    "事实": Kind.FACT,
    "决定": Kind.DECISION,
}
# What follows such words is for this turn only.
TURN_ORDERS: Final = ("reply exactly", "respond exactly", "answer exactly")
# The last four are the Chinese full stop, semicolon, comma and enumeration comma.
TRIMMED: Final = " \t\r\n.;,\u3002\uff1b\uff0c\u3001"
# As keyboards write it, and full width.
COLONS: Final = ":\uff1a"

# Letters of words that end in a label, such as `artifact:`; Chinese has no gaps between words.
_LETTERS: Final = "0-9A-Za-z_\u00aa-\u02af\u0300-\u036f\u1e00-\u1eff"


@dataclass(frozen=True, slots=True)
class _Page:
    """A request, and where in it others speak."""

    text: str
    quotations: tuple[Span, ...]
    # Where what was written elsewhere begins, line by line: no statement goes on into it.
    blocks: tuple[int, ...]

    def quotation_at(self, place: int) -> Span | None:
        """The innermost quotation around a place."""
        around = [it for it in self.quotations if it[0] <= place < it[1]]
        return max(around, default=None)

    def own_end(self, start: int, end: int) -> int:
        """Where a person's own statement stops: before a block that somebody else wrote."""
        following = bisect_right(self.blocks, start)
        return min((end, *self.blocks[following : following + 1]))


def labelled(request: str, *, most: int) -> tuple[FoundStatement, ...]:
    """What the labels of a scrubbed request say, in order; what others say comes last."""
    return screened(sorted(_found(request), key=lambda it: it.is_quoted), most=most)


def _found(request: str) -> Iterator[FoundStatement]:
    labels = list(_LABEL.finditer(request))
    if not labels:
        return
    blocks = tuple(start for start, _ in pasted(request))
    page = _Page(text=request, quotations=quoted(request), blocks=blocks)
    ends = [*(label.start() for label in labels[1:]), len(request)]
    for label, end in zip(labels, ends, strict=False):
        quotation = page.quotation_at(label.start("label"))
        yield FoundStatement(
            kind=_KINDS[unicodedata.normalize("NFC", label["label"]).casefold()],
            content=_said(page, label.end(), end, quotation),
            confidence=CONFIDENCE,
            path=CapturePath.LABELS,
            is_quoted=quotation is not None,
        )


def _said(page: _Page, start: int, end: int, quotation: Span | None) -> str:
    if quotation is None:
        return _content(page.text[start : page.own_end(start, end)])
    inside = page.text[start : max(start, min(end, quotation[1]))]
    bare = _QUOTE_MARK.sub("\n", TAG.split(inside, maxsplit=1)[0])
    return _content(_LAST_LINE.split(bare, maxsplit=1)[0].rstrip(_CLOSING))


def _content(text: str) -> str:
    """The one thing that is said: no further than its paragraph, and without orders for this turn."""
    paragraph = _PARAGRAPH_END.split(text.strip(), maxsplit=1)[0]
    said = " ".join(paragraph.split())
    # An order may follow the label at once.
    said = _TURN_ORDER.split(f" {said}", maxsplit=1)[0].strip(TRIMMED)
    # What opens before the next label closes behind it.
    return said.rstrip(_OPENING).rstrip(TRIMMED) if _is_open(said) else said


def _is_open(said: str) -> bool:
    last = said[-1:]
    if last in _BOTH_WAYS:
        return said[-2:-1].isspace() and said.count(last) % 2 == 1
    return last in _OPENING


def _either_form(label: str) -> tuple[str, ...]:
    """A label as keyboards write its accents: joined to their letters, or apart."""
    return tuple({unicodedata.normalize(form, label) for form in ("NFC", "NFD")})


_KINDS: Final = {unicodedata.normalize("NFC", label): kind for label, kind in LABELS.items()}
_SPELLED: Final = "|".join(re.escape(form) for label in LABELS for form in _either_form(label))
# In a list, what stands before a label is no part of what the label before it says.
_BULLET: Final = r"(?:^[ \t]{0,16}(?:[-+*•]|\d{1,3}[.)])[ \t]{0,16})?"
_LABEL: Final = re.compile(
    rf"{_BULLET}\*{{0,2}}"
    rf"(?<![{_LETTERS}])(?<![{_LETTERS}]-)(?P<label>{_SPELLED})"
    rf"\*{{0,2}}[{COLONS}]\*{{0,2}}",
    re.IGNORECASE | re.MULTILINE,
)
_PARAGRAPH_END: Final = re.compile(r"\n[^\S\n]*\n")
_TURN_ORDER: Final = re.compile(rf" (?:{'|'.join(TURN_ORDERS)})\b", re.IGNORECASE)
# Of somebody else's text only the statement itself is wanted.
_QUOTE_MARK: Final = re.compile(r"\n[ \t]{0,16}>[> \t]{0,16}")
_LAST_LINE: Final = re.compile(r"(?<=[.!?;\u3002\uff01\uff1f])[ \t]*\n|\n[ \t>]{0,16}(?:`{3}|~{3})")
_CLOSING: Final = " \t\r\n\"'`~”“»\u203a」』》\u2019"
_BOTH_WAYS: Final = "\"'`"
_OPENING: Final = _BOTH_WAYS + "“„«\u2039「『《\u2018([< "
