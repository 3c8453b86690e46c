"""Where a statement parts into what it is about and what it says: a table of what stands between.

A sign parts only where it stands for "is". Clock times, ratios, addresses, paths, namespaces,
comparisons and calls have the same signs and say something else with them.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from understudy.learnings.wording import HAN_AND_KANA

# A token that is only words around one sign.
_GLUED_COLON: Final = (
    r"(?:^|(?<= ))[^\W_][\w.'’-]*?(?P<sign>(?<=[^\W\d_]):)(?=[^\W\d_])[\w.'’,;!?-]*(?= |$)"
)
_GLUED_EQUALS: Final = (
    r"(?:^|(?<= ))[^\W_][\w.'’-]*(?P<sign>=)[-+$€£¥]?[^\W_][\w.'’,;!?%°$€£¥₫+#-]*(?= |$)"
)
# What mails and requests begin with; it labels what follows and says nothing of itself.
_HEADERS: Final = re.compile(
    r"(?:x|content|accept|sec|if|proxy|list|access-control)-[\w-]+|from|to|cc|bcc|subject|date|sent"
    r"|re|fw|fwd|reply-to|return-path|received|message-id|in-reply-to|mime-version|user-agent"
    r"|https?|ftp|mailto|urn|arn|def\b.*|lambda\b.*|elif\b.*"
)
# Asides in brackets, quotations and code, innermost first.
_ASIDE: Final = re.compile(
    r"\([^()]*\)|\[[^\[\]]*\]|\{[^{}]*\}|`[^`]*`|\"[^\"]*\"|“[^“”]*”|«[^«»]*»|「[^「」]*」|『[^『』]*』"
)
_ASIDE_DEPTH: Final = 3
# In place of each of its characters, so that places stay.
_HIDDEN: Final = "\0"
_WRAPPED: Final = re.compile(r"\([^()]*\)|\"[^\"]*\"|“[^“”]*”|«[^«»]*»|「[^「」]*」|\*\*[^*]*\*\*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Delimiter:
    """One thing that may stand between a subject and its value."""

    # Any of these; a group `sign` says what of the match parts, where it is not all of it.
    patterns: tuple[re.Pattern[str], ...]
    # A subject that is all of this is none.
    no_subject: re.Pattern[str] | None = None

    def place(self, line: str) -> tuple[int, int] | None:
        """Where it first stands."""
        found = (pattern.search(line) for pattern in self.patterns)
        places = [it.span("sign" if it.re.groups else 0) for it in found if it]
        return min(places, default=None)


def _word(word: str, *, unless_after: str = "") -> Delimiter:
    """A word between blanks; behind some words it means something else."""
    before = "".join(rf"(?<!\b{other})" for other in unless_after.split())
    return Delimiter(patterns=(re.compile(rf"{before} {word} "),))


# In this order; of each the first place counts.
DELIMITERS: Final = (
    _word("is"),
    _word("are"),
    _word("est"),
    _word("sont"),
    _word("là", unless_after="nghĩa tức hay hoặc nhất"),
    Delimiter(patterns=(re.compile(r"(?<![但还還可要于於总總凡若或只倒而既不])[就都也正]?是(?![否的])"),)),
    Delimiter(
        patterns=(
            re.compile(r"(?<= )=(?= )|(?<=[^\W_])=(?= )|(?<= )=(?=[^\W_])"),
            re.compile(_GLUED_EQUALS),
            re.compile(rf"(?<=[{HAN_AND_KANA}])=(?=[^\s=])"),
        ),
    ),
    Delimiter(
        patterns=(
            # Not between numbers, however they are set apart.
            re.compile(r"(?!(?<=\d): \d)(?!(?<=\d ): \d)(?<!:):(?= )"),
            re.compile(_GLUED_COLON),
            re.compile(rf"(?<=[{HAN_AND_KANA}]):(?=\w)|(?<=\w):(?=[{HAN_AND_KANA}])"),
        ),
        no_subject=_HEADERS,
    ),
)  # fmt: skip


def partings(line: str) -> Iterator[tuple[str, str]]:
    """The ways to part a plain text into subject and value, the most telling first."""
    if _WRAPPED.fullmatch(line):
        line = line.strip('()"“”«»「」* ')
    outline = _outline(line)
    for delimiter in DELIMITERS:
        place = delimiter.place(outline)
        if place is None:
            continue
        before, after = line[: place[0]], line[place[1] :]
        if delimiter.no_subject and delimiter.no_subject.fullmatch(before.strip()):
            continue
        yield before, after


def _outline(line: str) -> str:
    """The text with its asides blotted out, as long as it was."""
    for _ in range(_ASIDE_DEPTH):
        line = _ASIDE.sub(lambda aside: _HIDDEN * len(aside[0]), line)
    return line
