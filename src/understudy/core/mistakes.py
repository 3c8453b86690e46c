"""The mistakes in a value that was not what it has to be, as far as anybody would read them."""

from collections.abc import Callable
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

# Spelling out tens of thousands takes half a second, in which nothing else can run.
MOST: Final = 200
TOO_MANY: Final = "too_many_mistakes"
# The mistakes of a longer list, or of more fields, are looked for in its beginning.
_BEGINNING: Final = 50


def mistakes_of(error: ValidationError) -> list[ErrorDetails]:
    """The mistakes; none where there are too many to be spelt out."""
    if error.error_count() > MOST:
        return []
    return error.errors(include_url=False, include_input=False)


def many_mistakes(adapter: TypeAdapter[Any], value: Any) -> tuple[int, list[ErrorDetails]] | None:
    """How many mistakes are in a value, and those of its beginning; None if they can be spelt out."""
    try:
        adapter.validate_python(value)
    except ValidationError as error:
        count = error.error_count()
        return None if count <= MOST else (count, at_beginning(adapter.validate_python, value))
    return None


def at_beginning(read: Callable[[Any], object], value: Any) -> list[ErrorDetails]:
    """The mistakes at the beginning of a value that has too many."""
    try:
        read(_shortened(value))
    except ValidationError as error:
        return mistakes_of(error)
    return []


def _shortened(value: Any) -> Any:
    if isinstance(value, list):
        return [_shortened(each) for each in value[:_BEGINNING]]
    if isinstance(value, dict):
        return {name: _shortened(value[name]) for name in list(value)[:_BEGINNING]}
    return value
