"""Texts that state nothing: orders, refusals, junk and lone questions."""

import re
from functools import cache
from typing import Final

from understudy.learnings.phrases import (
    HAN,
    MAX_LEAD_CHARS,
    WORDS,
    begins,
    finds,
    phrases,
    words_of,
)

# The last four are the Chinese full stop, semicolon, comma and enumeration comma.
TRIMMED: Final = " \t\r\n.:;,!\u2026\u3002\uff1b\uff0c\u3001\uff01\uff1a"
STOP: Final = re.compile(
    r"[.!?;\u2026]+(?=[\s)\]*_]|$)|[\u3002\uff01\uff1f\uff1b]|[.!?](?=[\u3400-\u9fff])"
)
# A rule of a house is no order for now, even if it is written as one.
_RULE: Final = re.compile(
    r"\b(?:always|never|before|after|when(?:ever)?|if|every|each|unless|until|only|by default|luôn|mỗi|khi|trước|sau|nếu)\b"
    r"|\b(?:is|are|was|were|has|have|must|là)\b|[每先后後]|之前|总是|如果|必须|需要",
    re.IGNORECASE,
)


def is_order(said: str) -> bool:
    """Whether a text tells the agent to do something now: `Write the mail`."""
    return not _RULE.search(said) and (begins("orders.polite", said) or starts_order(said))


def starts_order(text: str) -> bool:
    """Whether a text begins with a verb and what it is to be done with."""
    verb = phrases("orders.verbs").match(text[:MAX_LEAD_CHARS].casefold())
    return verb is not None and begins("orders.objects", text[verb.end() :].lstrip())


def says_nothing(text: str) -> bool:
    """Whether a text is no statement, such as `???`, `none` or a single question."""
    said = text.strip()
    return is_junk(said.strip(TRIMMED)) or _only_asks(said)


def _only_asks(said: str) -> bool:
    if not said.endswith(("?", "\uff1f")) or STOP.search(said[:-1]):
        return False
    return begins("turns.questions", said) or finds("turns.question_words", said)


def is_junk(said: str) -> bool:
    """Whether a text has no letters, or only words that say nothing or refuse to."""
    if phrases("junk.refusals").fullmatch(said.casefold()):
        return True
    if HAN.search(said):
        return (
            said in WORDS.set("junk.unspaced")
            or _says_nothing_unspaced().fullmatch(said) is not None
        )
    nothing = WORDS.set("junk.words") | WORDS.set("junk.fillers")
    return not any(it.isalpha() for it in said) or all(it in nothing for it in words_of(said))


@cache
def _says_nothing_unspaced() -> re.Pattern[str]:
    parts = sorted(WORDS("junk.unspaced_parts"), key=len, reverse=True)
    return re.compile(f"(?:{'|'.join(parts)}){{1,8}}+")
