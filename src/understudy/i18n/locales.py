"""The language of an answer: the requested one, if it is supported."""

import re
from collections.abc import Iterator
from contextvars import ContextVar
from functools import lru_cache
from typing import Final

DEFAULT: Final = "en"
LOCALES: Final = (DEFAULT, "vi", "zh")

# The language of the answer to the current request.
current_locale: ContextVar[str] = ContextVar("current_locale", default=DEFAULT)

MAX_TAG_CHARS: Final = 64
MAX_HEADER_CHARS: Final = 1024

_TAG: Final = re.compile(r"([A-Za-z]{2,8})(?:[-_.@][\w.@-]*)?", re.ASCII)
_QUALITY: Final = re.compile(r"q\s?=\s?([01](?:\.\d{0,3})?)", re.IGNORECASE | re.ASCII)


def locale_of(text: str | None) -> str:
    """The language of a tag such as `vi-VN`; the default if it is not supported."""
    return spoken_in(text or "") or DEFAULT


@lru_cache(maxsize=256)
def spoken_in(tag: str) -> str | None:
    """The language of a tag; None if it is not supported."""
    found = _TAG.fullmatch(tag.strip()) if len(tag) <= MAX_TAG_CHARS else None
    language = found[1].lower() if found else None
    return language if language in LOCALES else None


def from_accept_language(header: str | None) -> str | None:
    """The supported language that an Accept-Language header prefers; None without one."""
    wanted = list(_wanted(header or ""))
    # `max` keeps the first of equal quality.
    return max(wanted, key=lambda each: each[1])[0] if wanted else None


def _wanted(header: str) -> Iterator[tuple[str, float]]:
    if len(header) > MAX_HEADER_CHARS:
        # Without the last entry, which may be truncated.
        header = header[:MAX_HEADER_CHARS].rpartition(",")[0]
    for entry in header.split(","):
        tag, *parameters = (part.strip() for part in entry.split(";"))
        spoken, liked = spoken_in(tag), _quality(parameters)
        if spoken is not None and liked > 0:
            yield spoken, liked


def _quality(parameters: list[str]) -> float:
    """The quality of an entry; 0 where it cannot be parsed."""
    if not parameters:
        return 1.0
    found = _QUALITY.fullmatch(parameters[0])
    liked = float(found[1]) if found and len(parameters) == 1 else 0.0
    return liked if liked <= 1 else 0.0
