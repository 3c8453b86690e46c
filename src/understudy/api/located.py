"""Errors about a part of a body, which point to where in the body it stood."""

from collections.abc import Iterator
from contextlib import contextmanager

from understudy.core.errors import Invalid
from understudy.core.pointer import MAX_CHARS, pointer


@contextmanager
def located(*path: str) -> Iterator[None]:
    """Put a path in front of every pointer of an `Invalid`."""
    try:
        yield
    except Invalid as problem:
        place = pointer(path)
        raise problem.moved(lambda below: (place + below)[:MAX_CHARS]) from None
