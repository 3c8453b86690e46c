"""Texts that a message hands over: behind an order, a question, a heading or the name of a source."""

import re
from collections.abc import Sequence
from functools import cache
from typing import Final

from understudy.learnings.labels import LABELS
from understudy.patterns.word_lists import WordLists

WORDS: Final = WordLists("understudy.learnings", "statement_words.toml")
# A heading or a speaker has at most so many characters before its colon.
MAX_HEADING: Final = 80
# An order of so few words is about the text beside it.
FEW_WORDS: Final = 2

_ENDED: Final = re.compile(r"[.!?;,\u3002\uff01\uff1f\uff1b]\s*$")
_COLON_AT_END: Final = re.compile(r"[:\uff1a]\s*$")
_BULLET: Final = re.compile(r"\s*(?:[-+*•]|\d{1,3}[.)])\s")
_FIRST_PERSON: Final = re.compile(r"\b(?:i|me|my|we|us|our|tôi|mình|chúng)\b|[我咱]", re.IGNORECASE)
# Greetings and thanks, which stand on lines of their own.
_GREETING: Final = re.compile(
    r"\s*(?:hi|hello|hey|dear|thanks?|ok|okay|please|chào|xin chào|cảm ơn|你好|您好|谢谢)\b.{0,30}$",
    re.IGNORECASE,
)
# The marks of a log line, a table row or a chat protocol before a statement.
_RECORDED: Final = re.compile(r"[\[\]|@^<>{}\\]|\d{1,2}:\d\d|\b(?:INFO|WARN|WARNING|ERROR|DEBUG)\b")


def _any_of(name: str) -> re.Pattern[str]:
    """A pattern of listed words; those of Chinese are found anywhere."""
    listed = WORDS(f"texts.{name}")
    latin = "|".join(re.escape(it) for it in listed if it < "\u2e80")
    chinese = "|".join(re.escape(it) for it in listed if it >= "\u2e80")
    return re.compile(rf"\b(?:{latin})\b|{chinese}", re.IGNORECASE)


@cache
def _sources() -> re.Pattern[str]:
    return _any_of("sources")


@cache
def _pointers() -> re.Pattern[str]:
    return _any_of("pointers")


@cache
def _orders() -> re.Pattern[str]:
    return _any_of("orders")


@cache
def _questions() -> re.Pattern[str]:
    return _any_of("questions")


@cache
def _reports() -> re.Pattern[str]:
    return _any_of("reports")


def names_source(before: str) -> bool:
    """Whether the words before a statement name its text or an order about it: `Tool output: `."""
    heading = before.rstrip()[-MAX_HEADING:]
    if _COLON_AT_END.search(heading) is None:
        return False
    return any(named.search(heading) for named in (_sources(), _orders()))


def announces(heading: str) -> bool:
    """Whether a heading is a label or an announcement, and no speaker."""
    name = heading.strip(" *_:\uff1a").casefold()
    return name in LABELS or any(it in name for it in WORDS("classes.headings"))


def speaks_of_text(said: str) -> bool:
    """Whether a sentence asks or orders something about a text that it points to."""
    if _orders().search(said):
        return _pointers().search(said) is not None or len(said.split()) <= FEW_WORDS
    return _pointers().search(said) is not None and _questions().search(said) is not None


def hands_over(line_end: str) -> bool:
    """Whether the last sentence of a line introduces the lines behind it as a text of another."""
    if names_source(line_end) or speaks_of_text(line_end):
        return True
    return not _ENDED.search(line_end) and _orders().search(line_end) is not None


def may_be_anothers(earlier: Sequence[str], before: str, later: Sequence[str]) -> bool:
    """Whether anything around a statement may introduce it as somebody else's text.

    Given are the sentences before the statement, each with its line break; the words before it in
    its own sentence; and the sentences behind it. In doubt the answer is yes.
    """
    if any(map(_may_introduce, earlier)) or _may_introduce_here(before):
        return True
    return any(speaks_of_text(said) or "^" in said for said in later)


def _may_introduce(said: str) -> bool:
    if _pointers().search(said) or _reports().search(said):
        return True
    if said.endswith("\n"):
        line = said.strip()
        if _COLON_AT_END.search(line):
            return not _is_own_heading(line)
        is_plain = _ENDED.search(line) or _BULLET.match(line) or _GREETING.match(line)
        if not is_plain:
            return not _is_own_heading(line)
        if _orders().search(line) and _sources().search(line):
            return True
    return _may_introduce_here(said)


def _may_introduce_here(before: str) -> bool:
    heading, colon, _ = before.replace("\uff1a", ":").partition(":")
    return (colon != "" and not _is_own_heading(heading)) or _RECORDED.search(before) is not None


def _is_own_heading(heading: str) -> bool:
    if _sources().search(heading) or _orders().search(heading):
        return False
    return announces(heading) or _FIRST_PERSON.search(heading) is not None
