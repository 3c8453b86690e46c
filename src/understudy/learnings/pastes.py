"""Pastes: texts of others that a message hands over without quotation marks."""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import islice
from typing import Final

from understudy.learnings.normal_form import HAN_AND_KANA
from understudy.learnings.phrases import any_of
from understudy.learnings.quotations import Span, pasted, quoted, sentences
from understudy.patterns.word_lists import WordLists

WORDS: Final = WordLists("understudy.learnings", "statement_words.toml")
# A longer message is material for the most part.
MAX_TYPED_CHARS: Final = 4_000
# An order of so few words is about the text beside it.
FEW_ORDERED: Final = 3
# Nobody reads further back for what introduces a text.
MAX_SENTENCES: Final = 200

ENDED: Final = re.compile(r"[.!?;,\u3002\uff01\uff1f\uff1b]\s*$")
# A greeting without a name: a mail greets somebody.
GREETING: Final = re.compile(
    r"\s*(?:hi|hello|hey|thanks|thank you|ok|okay|please|chào|xin chào|chào bạn|cảm ơn|你好|您好|谢谢)(?: there)?\W*$",
    re.IGNORECASE,
)
# The number of a list item.
NUMBER: Final = re.compile(r"\s*\d{1,3}[.)]\s*$")
# A file, a path or an address, which tools open.
OPENED: Final = re.compile(r"\w\.\w{1,5}\b|/\w")
_FILE: Final = re.compile(r"[\w./-]+\.\w{1,5}\b")
WORD: Final = re.compile(rf"[{HAN_AND_KANA}]|[^\W_{HAN_AND_KANA}]+")
# The writer's own words of before, which are no report.
_REMINDED: Final = re.compile(
    r"\bi(?:['\u2019]ve| have)? (?:just |already )?(?:said|told|wrote|sent|posted)\b|(?:^|[.,;!?]\s)tôi (?:đã )?(?:nói|gửi|viết)\b"
    r"|我[刚剛]?[说說发写]|[顺順]便[说說]|[说說]明|[说說]一下|\btheo (?:tôi|mình|dõi|thứ|cách)\b|\btiếp theo\b",
    re.IGNORECASE,
)  # fmt: skip
# The words before a colon and more words.
_HEADING: Final = re.compile(r"[^:\uff1a\n]{1,200}(?:[:\uff1a](?=[ \t]*\S)|\uff1a(?=.))")
_FOLLOWS: Final = re.compile(r"\bfollows\b", re.IGNORECASE)
# What an order says of the form that it wants.
_MANNER: Final = re.compile(r"(?:in|into|to|as|for|with)\b")
# The topic of what follows on the line: `For the report: …`.
_TOPIC: Final = re.compile(
    r"\W*(?:for|about|in|on|when|về|cho|khi|关于|对于)\b|\W*(?:关于|对于|写)", re.IGNORECASE
)


def holds_paste(message: str) -> bool:
    """Whether a message may hold text of others: quoted, pasted as a block, or handed over."""
    return len(message) > MAX_TYPED_CHARS or bool(quoted(message)) or hands_over_paste(message)


def hands_over_paste(message: str) -> bool:
    """Whether a sentence of a message may introduce text of others behind it."""
    for start, end in _with_breaks(message):
        said = message[start:end]
        # Without anything behind it, what is asked for is done to something else.
        if message[end:].strip() and introduces_paste(said):
            return True
        heading = _HEADING.match(said)
        if heading is not None and introduces_paste(heading[0], is_lead=True):
            return True
    return _is_worked_on(message)


def is_introduced(text: str, at: int, *, besides: Sequence[int] = ()) -> bool:
    """Whether a sentence before an offset, or the last line, may tell of it as text of others.

    Sentences that hold one of the sorted offsets `besides` are not asked. A sentence directly before
    a pasted block introduces that block and nothing else.
    """
    blocks = pasted(text)
    for start, end in islice(_with_breaks(text[:at]), MAX_SENTENCES):
        following = end + len(text[end:]) - len(text[end:].lstrip())
        is_other = bisect_left(besides, start) < bisect_left(besides, end) or any(
            first <= start < last or end <= first <= following for first, last in blocks
        )
        if not is_other and introduces_paste(text[start:end], is_lead=end == at):
            return True
    return _is_worked_on(text[at:])


def introduces_paste(said: str, *, is_lead: bool = False) -> bool:
    """Whether a sentence, given with its line break, may introduce text of others behind it.

    Such text has no mark of its own, so what tells of it is the order, the question or the report
    before it. The name of a text alone counts where it stands as a title; what `is_lead` stands on
    the same line.
    """
    if GREETING.match(said) or NUMBER.match(said):
        return False
    is_titled = ENDED.search(said) is None and (is_lead or said.endswith("\n"))
    if is_lead and _TOPIC.match(said):
        return False
    if finds("pastes.reports", _REMINDED.sub("", said)) or _works_on_text_beside(said):
        return True
    points, has_source = (
        finds("pastes.pointers", said),
        finds("pastes.sources", _FILE.sub("", said)),
    )
    is_bare = points or is_titled or said.rstrip().endswith(("?", "\uff1f"))
    if finds("pastes.orders", said) and OPENED.search(said) is None:
        return is_bare or len(WORD.findall(said)) <= FEW_ORDERED
    if has_source and finds("pastes.others", said):
        return is_bare
    return has_source and (points or is_titled or _FOLLOWS.search(said) is not None)


def _is_worked_on(text: str) -> bool:
    """Whether the last line of a text is about the lines before it."""
    _, line_break, last = text.rstrip().rpartition("\n")
    return bool(line_break) and _works_on_text_beside(last)


def _works_on_text_beside(said: str) -> bool:
    """Whether an order lacks its object, or a question ends by pointing: it is the text beside it."""
    return not OPENED.search(said) and _objectless_or_pointing().search(said) is not None


@cache
def _objectless_or_pointing() -> re.Pattern[str]:
    orders, pointers = listed("pastes.orders").pattern, listed("pastes.pointers").pattern
    objectless = rf"\A\W*(?:{orders})\s+{_MANNER.pattern}"
    return re.compile(rf"{objectless}|(?:{pointers})\s*[?\uff1f]\s*$", re.IGNORECASE)


def _with_breaks(text: str) -> Iterator[Span]:
    """The spans of the sentences of a text, each with the line break behind it."""
    for start, end in sentences(text):
        yield start, end + (text[end : end + 1] == "\n")


def finds(name: str, said: str) -> bool:
    """Whether a text has a phrase of a list about texts of others."""
    return listed(name).search(said) is not None


@cache
def listed(name: str) -> re.Pattern[str]:
    """A list of phrases as a pattern; those of Chinese are found anywhere."""
    more = WORDS("texts.sources") if name == "pastes.sources" else ()
    return re.compile(any_of(WORDS(name) + more), re.IGNORECASE)
