"""Identifiers: prefixed, opaque and ordered by the time they were made."""

import re
from typing import Final

import uuid_utils

from understudy.core.errors import coded_error

MAX_ID_LENGTH: Final = 200
# A caller's id becomes part of paths, headers and log lines: printable, no blanks, no slashes.
_CALLER_ID: Final = re.compile(r"[^\s/\\\x00-\x1f\x7f]{1,200}")


def new_id(prefix: str) -> str:
    """A fresh id such as `run_0198…`; ids of one process sort in the order they were made."""
    return f"{prefix}_{uuid_utils.uuid7().hex}"


def check_caller_id(value: str, *, field: str, domain: str) -> str:
    """Accept an id that a caller chose, or say what is wrong with it."""
    if value in ("", ".", "..") or not _CALLER_ID.fullmatch(value) or not value.isprintable():
        raise coded_error(
            f"{domain}/invalid_id",
            pointer=f"/{field}",
            field=field,
            limit=MAX_ID_LENGTH,
        )
    return value
