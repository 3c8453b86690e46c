"""Texts that a message hands over: behind an order, a question, a heading or the name of a source."""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from understudy.learnings.labels import LABELS
from understudy.learnings.pastes import (
    ENDED,
    FEW_ORDERED,
    GREETING,
    NUMBER,
    OPENED,
    WORD,
    WORDS,
    finds,
    listed,
)
from understudy.learnings.phrases import HAN

# A heading or a speaker has at most so many characters before its colon.
MAX_HEADING: Final = 80
# An order of so few words is about the text beside it.
FEW_WORDS: Final = 2
FEW_NAMED: Final = 4
# More sentences than the evidence of a run has.
MAX_READ: Final = 4096

_COLON_AT_END: Final = re.compile(r"[:\uff1a]\s*$")
_BULLET: Final = re.compile(r"\s*(?:[-+*•]|\d{1,3}[.)])\s")
_THAT: Final = re.compile(r"\b(?:that|rằng)\W*$", re.IGNORECASE)
# The marks of a log line, a table row or a chat protocol.
_RECORDED: Final = re.compile(r"[\[\]|@^<>{}\\]|\d{1,2}:\d\d|\b(?:INFO|WARN|WARNING|ERROR|DEBUG)\b")
_SIGNS: Final = re.compile(r"[^\w\s,.!*'\uff0c\u3002\uff01]")
_ARTICLES: Final = frozenset(("the", "a", "an"))
_FROM: Final = re.compile(r"\b(?:from|by|of|từ|của)\b|来自|的", re.IGNORECASE)
_CLOSING: Final = re.compile(
    r"\W*(?:\^|--|\u2014|\(|(?:best|kind|warm)\b.{0,20}\b(?:regards|wishes)|regards|best,|cheers|sincerely|yours|sent from|end of"
    r"|source\b|trân trọng|thân mến|nguồn|此致|敬上|来源)",
    re.IGNORECASE,
)
_IT: Final = re.compile(r"\bit\b", re.IGNORECASE)
_ASKS_FOR_REPLY: Final = re.compile(
    r"\b(?:reply|respond|answer (?:him|her|them|it))\b|[回答]复|trả lời (?:thư|email|tin)",
    re.IGNORECASE,
)
# A name on a line of its own.
_SIGNATURE: Final = re.compile(r"\s*(?:[^\W\d_][\w-]{0,30},? ?){1,2}\s{0,8}$")


def names_source(before: str) -> bool:
    """Whether the words before a statement name its text or an order about it: `Tool output: `."""
    heading = before.rstrip()[-MAX_HEADING:]
    if _COLON_AT_END.search(heading) is None:
        return False
    return any(finds(f"texts.{it}", heading) for it in ("sources", "orders"))


def announces(heading: str) -> bool:
    """Whether a heading is a label or an announcement, and no speaker."""
    name = heading.strip(" *_:\uff1a").casefold()
    return name in LABELS or any(it in name for it in WORDS("classes.headings"))


def speaks_of_text(said: str) -> bool:
    """Whether a sentence asks or orders something about a text that it points to."""
    if finds("texts.orders", said):
        # Without blanks, only an order that works on nothing but texts needs no pointer.
        is_short = (
            finds("pastes.orders", said) if HAN.search(said) else len(said.split()) <= FEW_WORDS
        )
        is_bare = is_short and OPENED.search(said) is None
        return is_bare or finds("texts.pointers", said)
    return finds("texts.pointers", said) and finds("texts.questions", said)


def hands_over(line_end: str) -> bool:
    """Whether the last sentence of a line introduces the lines behind it as a text of another."""
    if names_source(line_end) or speaks_of_text(line_end):
        return True
    return not ENDED.search(line_end) and finds("texts.orders", line_end)


def may_be_anothers(earlier: Sequence[str], before: str, later: Sequence[str]) -> bool:
    """Whether anything around a statement may introduce it as somebody else's text.

    Given are the sentences before the statement, each with its line break; the words before it in
    its own sentence; and the sentences behind it. In doubt the answer is yes.
    """
    if not _is_own_lead(before) or any(map(_may_introduce, earlier)):
        return True
    return any(map(_may_refer_back, later))


def _is_own_lead(before: str) -> bool:
    """Whether the words before a statement are a bullet, a label, or words that change nothing."""
    said = _BULLET.sub("", before, count=1)
    heading, colon, lead = said.replace("\uff1a", ":").rpartition(":")
    if colon and not _is_own_heading(heading):
        return False
    if _SIGNS.search(lead):
        return False
    known = WORDS.set("classes.leads") | WORDS.set("classes.adverbs") | WORDS.set("texts.leads")
    return known.issuperset(WORD.findall(lead.casefold()))


# Cached: for each place of a statement that a text repeats, the same sentences are read again.
@lru_cache(maxsize=MAX_READ)
def _may_introduce(said: str) -> bool:
    """Whether an earlier sentence may introduce what follows it."""
    words = WORD.findall(said.casefold())
    if GREETING.match(said) or NUMBER.match(said):
        return False
    if not words or _RECORDED.search(said) or _points_or_reports(said):
        return True
    heading, colon, _ = said.replace("\uff1a", ":").partition(":")
    if colon:
        return not _is_own_heading(heading)
    if _is_about_text(said, words) or _is_fragment(said, words):
        return True
    is_sentence = ENDED.search(said) is not None or _BULLET.match(said) is not None
    return said.endswith("\n") and not is_sentence


def _is_about_text(said: str, words: Sequence[str]) -> bool:
    """Whether a sentence speaks of a text that is not a file or an address to be opened."""
    if OPENED.search(said):
        return False
    is_order = finds("texts.orders", said)
    has_source = finds("texts.sources", said)
    return (is_order and (has_source or len(words) <= FEW_ORDERED)) or (
        has_source
        and (_FROM.search(said) is not None or listed("texts.sources").match(said) is not None)
    )


def _is_fragment(said: str, words: Sequence[str]) -> bool:
    """Whether a sentence is a title rather than an order or a statement."""
    if HAN.search(said):
        return False
    return len(words) <= FEW_WORDS or (len(words) <= FEW_NAMED and words[0] in _ARTICLES)


@lru_cache(maxsize=MAX_READ)
def _may_refer_back(said: str) -> bool:
    """Whether a later sentence may speak of the statement as a text, or ends a mail."""
    if speaks_of_text(said) or finds("texts.reports", said) or _CLOSING.match(said):
        return True
    if "?" in said and _IT.search(said):
        return True
    return _ASKS_FOR_REPLY.search(said) is not None or _SIGNATURE.match(said) is not None


def _points_or_reports(said: str) -> bool:
    return any(finds(f"texts.{it}", _THAT.sub("", said)) for it in ("pointers", "reports"))


def _is_own_heading(heading: str) -> bool:
    is_own = not any(finds(f"texts.{it}", heading) for it in ("sources", "orders"))
    return is_own and announces(heading) and not _points_or_reports(heading)
