"""Identifiers: prefixed and opaque; those of one process sort in the order they were made."""

import re
import secrets
import threading
import time
from typing import Final

from understudy.core.errors import coded_error

MAX_ID_LENGTH: Final = 200
# A caller's id becomes part of paths, headers and log lines: printable, no blanks, no slashes.
_CALLER_ID: Final = re.compile(r"[^\s/\\\x00-\x1f\x7f]{1,200}")
# Crockford's base32: without i, l, o and u.
ALPHABET: Final = "0123456789abcdefghjkmnpqrstvwxyz"
# An id that a daemon made, as a pattern; the body of older ones is a UUID in hex.
MADE_ID: Final = rf"[a-z]+_(?:[{ALPHABET}]{{26}}|[0-9a-f]{{32}})"
_RANDOM_BITS: Final = 5 * 19
# Within a second each id is above the one before by about a thousandth of the space that is left:
# ids made together differ in their first random characters, and thousands fit.
_STEP_BITS: Final = 10
_LEAST_STEP: Final = 1 << 32
_PLACES: Final = range(5 * 25, -1, -5)


class IdNumbers:
    """The numbers of ids: seconds, then random; each is greater than the one before."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seconds = self._random = 0

    def next(self) -> int:
        now = int(time.time())
        with self._lock:
            step = ((1 << _RANDOM_BITS) - self._random) >> _STEP_BITS
            # A clock that was set back leaves the order as it is; a full second borrows the next.
            if now > self._seconds or step < _LEAST_STEP:
                self._seconds = max(now, self._seconds + 1)
                self._random = secrets.randbits(_RANDOM_BITS - 1)
            else:
                self._random += (step >> 1) + secrets.randbelow(step)
            return self._seconds << _RANDOM_BITS | self._random


_NUMBERS: Final = IdNumbers()


def new_id(prefix: str) -> str:
    """A fresh id such as `run_1k9f…`; ids of one process sort in the order they were made."""
    number = _NUMBERS.next()
    return prefix + "_" + "".join([ALPHABET[number >> place & 31] for place in _PLACES])


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
