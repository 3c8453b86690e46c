"""Whether a text looks like secret material, which is never learned."""

import re
import unicodedata
from collections.abc import Callable
from functools import lru_cache
from typing import Final

from understudy.core.unseen import is_unseen
from understudy.learnings.assignments import has_secret_assignment
from understudy.learnings.mentions import has_told_secret
from understudy.learnings.model import MAX_CONTENT_CHARS
from understudy.learnings.redaction_marks import has_redaction_mark
from understudy.learnings.spelled_out import read_together
from understudy.redaction.scrub import scrub
from understudy.redaction.strict import holds_secret

_PRIVATE_KEY: Final = re.compile(r"-----BEGIN [A-Z0-9 ]{0,32}PRIVATE KEY")


def _would_be_scrubbed(text: str) -> bool:
    # Names, addresses and numbers of people are no secrets: a fact may hold them.
    return _PRIVATE_KEY.search(text) is not None or scrub(text, pii=False) != text


# Why, and what says so; the first that does is named.
CHECKS: Final[tuple[tuple[str, Callable[[str], bool]], ...]] = (
    ("redaction_marker", has_redaction_mark),
    ("secret_pattern", _would_be_scrubbed),
    ("secret_assignment", has_secret_assignment),
    ("secret_assignment", has_told_secret),
)


# Where a false alarm costs little, also what only looks like the example of one.
STRICT_CHECKS: Final = (*CHECKS, ("secret_pattern", holds_secret))


def secret_reason(text: str, *, strictly: bool = False) -> str | None:
    """Why a text looks like secret material; None when it does not."""
    # What is longer is refused anyway, and would fill the memory.
    return (_remembered if len(text) <= MAX_CONTENT_CHARS else _reason)(text, strictly)


def _reason(text: str, strictly: bool) -> str | None:
    shown = _shown(text)
    readings = dict.fromkeys((shown, read_together(shown)))
    checks = STRICT_CHECKS if strictly else CHECKS
    return next((why for it in readings for why, says in checks if says(it)), None)


# What was looked at before a lock was taken is not looked at again while it is held.
_remembered: Final = lru_cache(maxsize=2048)(_reason)


def _shown(text: str) -> str:
    """The text as a reader sees it: no hidden characters, one form for each letter."""
    if text.isascii() and text.isprintable():
        return text
    seen = "".join(each for each in text if each in "\n\t" or not is_unseen(each))
    return unicodedata.normalize("NFKC", seen)
