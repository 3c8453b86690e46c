"""Rehearsals and premises: a change is checked as if it were made, or checked where it is made."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

_is_on: Final[ContextVar[bool]] = ContextVar("rehearsal", default=False)
# Takes the unit that begins to write.
Premise = Callable[[Any], None]
_premise: Final[ContextVar[Premise | None]] = ContextVar("premise", default=None)


class Rehearsed(Exception):
    """A unit reached its commit in a rehearsal; it is rolled back."""


@contextmanager
def rehearsal() -> Iterator[None]:
    """Make the first unit that reaches its commit within raise `Rehearsed` instead."""
    token = _is_on.set(True)
    try:
        yield
    finally:
        _is_on.reset(token)


def end_rehearsal() -> None:
    """Raise `Rehearsed` to roll back the open unit, if this is a rehearsal."""
    if _is_on.get():
        raise Rehearsed


@contextmanager
def premise(holds: Premise) -> Iterator[None]:
    """Have each unit that writes within begin with `holds`, which raises if the change may not be made."""
    token = _premise.set(holds)
    try:
        yield
    finally:
        _premise.reset(token)


def begin_change(unit: object) -> None:
    """Check in the unit that makes a change what the change rests on."""
    holds = _premise.get()
    if holds is not None:
        holds(unit)
