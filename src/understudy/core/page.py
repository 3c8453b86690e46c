"""Lists in pages: a bounded number of items and an opaque cursor to the next ones."""

import base64
import binascii
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from understudy.core.errors import coded_error

DEFAULT_LIMIT: Final = 50
MAX_LIMIT: Final = 200

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
Key = tuple[int | str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRequest:
    """The page size, and the sort key to continue after."""

    limit: int = DEFAULT_LIMIT
    after: Key | None = None

    @classmethod
    def parse(cls, *, limit: int | None, cursor: str | None) -> "PageRequest":
        """Parse the caller's limit and cursor; a limit above the maximum is cut to it."""
        if limit is not None and limit < 1:
            raise coded_error("pagination/invalid_limit", pointer="/limit")
        return cls(
            limit=min(limit or DEFAULT_LIMIT, MAX_LIMIT),
            after=decode_cursor(cursor) if cursor else None,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Page(Generic[T_co]):
    """The items of one page, and the cursor of the next page if there is one."""

    items: tuple[T_co, ...]
    next_cursor: str | None = None

    @staticmethod
    def cut(items: Sequence[T], request: PageRequest) -> "Page[T]":
        """A page of a list in memory; the cursor is an offset."""
        start, *more_keys = request.after or (0,)
        if more_keys or type(start) is not int or not 0 <= start <= len(items):
            raise coded_error("pagination/invalid_cursor", pointer="/cursor")
        end = start + request.limit
        more = end < len(items)
        return Page(
            items=tuple(items[start:end]), next_cursor=encode_cursor((end,)) if more else None
        )


def encode_cursor(key: Key) -> str:
    """A sort key as an opaque, URL-safe string."""
    raw = json.dumps(key, separators=(",", ":")).encode()
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def decode_cursor(cursor: str) -> Key:
    """The sort key in a cursor that this daemon made, or `Invalid`."""
    try:
        key = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
    except (ValueError, binascii.Error, RecursionError):
        key = None
    valid = isinstance(key, list) and key and all(_is_ours(part) for part in key)
    if not valid:
        raise coded_error("pagination/invalid_cursor", pointer="/cursor")
    return tuple(key)


def _is_ours(part: object) -> bool:
    """Whether a part of a sort key is an integer or an id; ids are printable."""
    return type(part) is int or (isinstance(part, str) and part.isprintable())
