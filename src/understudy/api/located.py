"""Errors about a part of a body, which point to where in the body it stood."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from understudy.core.errors import FieldError, Invalid
from understudy.core.pointer import MAX_CHARS, pointer


@contextmanager
def located(*path: str) -> Iterator[None]:
    """Put a path in front of every pointer of an `Invalid`."""
    try:
        yield
    except Invalid as problem:
        errors = tuple(_below(pointer(path), error) for error in problem.errors)
        raise Invalid(
            problem.code, domain=problem.domain, detail=problem.detail, errors=errors
        ) from None


def _below(place: str, error: FieldError) -> FieldError:
    return replace(error, pointer=(place + error.pointer)[:MAX_CHARS])
