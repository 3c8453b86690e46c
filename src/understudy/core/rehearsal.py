"""Rehearsals: a change is checked as if it were made, and rolled back before it is stored."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

_is_on: Final[ContextVar[bool]] = ContextVar("rehearsal", default=False)


class Rehearsed(Exception):
    """A unit would have been committed; nothing of it is stored."""


@contextmanager
def rehearsal() -> Iterator[None]:
    """Have the first unit that would be committed within raise `Rehearsed` instead."""
    token = _is_on.set(True)
    try:
        yield
    finally:
        _is_on.reset(token)


def end_rehearsal() -> None:
    """Roll the open unit back where it is part of a rehearsal."""
    if _is_on.get():
        raise Rehearsed
