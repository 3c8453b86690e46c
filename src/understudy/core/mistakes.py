"""Validation errors of a value, as many as anybody would read."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

# Formatting tens of thousands of errors blocks the process for half a second.
MOST: Final = 200
TOO_MANY: Final = "too_many_mistakes"
# Of a longer list, or of more fields, only the first are validated again for their errors.
_BEGINNING: Final = 50
# What a value has to be, by the code of the library; a code that is not here brings words of ours.
WORDS: Final[Mapping[str, str]] = {
    "missing": "is required",
    "extra_forbidden": "is not a field here",
    "unexpected_keyword_argument": "is not a field here",
    "none_required": "must be null",
    "string_type": "must be text",
    "string_sub_type": "must be text",
    "string_unicode": "must be text that can be written as UTF-8",
    "string_too_short": "must have at least {min_length} characters",
    "string_too_long": "must have at most {max_length} characters",
    "string_pattern_mismatch": "must match {pattern}",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_from_float": "must be a whole number",
    "int_parsing_size": "is too large a number",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "finite_number": "must be a finite number",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "greater_than": "must be more than {gt}",
    "greater_than_equal": "must be at least {ge}",
    "less_than": "must be less than {lt}",
    "less_than_equal": "must be at most {le}",
    "multiple_of": "must be a multiple of {multiple_of}",
    "too_short": "must have at least {min_length} entries",
    "too_long": "must have at most {max_length} entries",
    "list_type": "must be a list",
    "tuple_type": "must be a list",
    "set_type": "must be a list",
    "dict_type": "must be an object",
    "mapping_type": "must be an object",
    "model_type": "must be an object",
    "model_attributes_type": "must be an object",
    "dataclass_type": "must be an object",
    "literal_error": "must be {expected}",
    "enum": "must be {expected}",
    "union_tag_invalid": "must be one of {expected_tags}",
    "union_tag_not_found": "must name what it is in {discriminator}",
    "json_invalid": "is not valid JSON: {error}",
    "json_type": "must be JSON text",
    "url_parsing": "must be a URL: {error}",
    "url_scheme": "must be a URL that begins with {expected_schemes}",
    "url_type": "must be a URL",
    "bytes_type": "must be bytes",
    "path_type": "must be a path",
}
_VALUE_ERROR: Final = "Value error, "


def mistakes_of(error: ValidationError) -> list[ErrorDetails]:
    """The validation errors; none if there are too many to format."""
    if error.error_count() > MOST:
        return []
    return error.errors(include_url=False, include_input=False)


def words_of(found: Mapping[str, Any]) -> str:
    """What is wrong with a value, in our words."""
    try:
        return WORDS[found["type"]].format_map(found.get("ctx") or {})
    except KeyError:
        return str(found["msg"]).removeprefix(_VALUE_ERROR)


def many_mistakes(adapter: TypeAdapter[Any], value: Any) -> tuple[int, list[ErrorDetails]] | None:
    """The number of errors in a value and the first of them; None if all can be formatted."""
    try:
        adapter.validate_python(value)
    except ValidationError as error:
        count = error.error_count()
        return None if count <= MOST else (count, at_beginning(adapter.validate_python, value))
    return None


def at_beginning(read: Callable[[Any], object], value: Any) -> list[ErrorDetails]:
    """The validation errors in the first items of a value that has too many."""
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
