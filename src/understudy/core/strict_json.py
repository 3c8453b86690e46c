"""Strict JSON parsing: refuses values that no database or client could take back."""

import json
import math
from collections.abc import Collection
from typing import Any, Final, NoReturn

from understudy.core.errors import Invalid, coded_error
from understudy.core.pointer import pointer

MAX_DEPTH: Final = 64
# Parsing holds the GIL, so a body of many small values is refused before it is parsed.
MAX_VALUES: Final = 50_000
# A name costs several times what a value does: to parse, to look up, and to refuse as unknown.
MAX_NAMES: Final = 10_000
MAX_INT: Final = 2**63 - 1


def parse(body: bytes | str) -> Any:
    """Parse and check a JSON text, or raise `Invalid` with the pointer of the bad value."""
    value = load(body)
    check(value)
    return value


def parse_mended(body: bytes | str) -> Any:
    """Parse a JSON text of a program that nobody can correct: what cannot be stored is replaced.

    NUL and halves of characters become U+FFFD, numbers that are too large their text, and lists and
    objects that are too deep "…".
    """
    value = load(body)
    try:
        check(value)
    except Invalid:
        return _mended(value, MAX_DEPTH - 1)
    return value


def _mended(value: Any, depth: int) -> Any:
    match value:
        case str():
            return (
                value.replace("\0", "\ufffd")
                .encode("utf-16", "surrogatepass")
                .decode("utf-16", "replace")
            )
        case float() if not math.isfinite(value):
            return str(value)
        case int() if abs(value) > MAX_INT:
            return str(value)
        case list() | dict() if depth == 0:
            return "…"
        case list():
            return [_mended(item, depth - 1) for item in value]
        case dict():
            return {_mended(key, 0): _mended(item, depth - 1) for key, item in value.items()}
        case _:
            return value


def load(body: bytes | str) -> Any:
    """Parse JSON without checking its values: they must not be stored or sent yet."""
    _refuse_many_values(body.encode("utf-8", "surrogatepass") if isinstance(body, str) else body)
    try:
        return json.loads(body, parse_constant=no_constant, object_pairs_hook=_once)
    except (ValueError, RecursionError):
        raise coded_error("api/malformed_json", pointer="") from None


def _refuse_many_values(body: bytes) -> None:
    """Refuse too many values or names, counted by separators outside of strings, before parsing."""
    if _are_few(body):
        return
    plain = body.replace(b"\\\\", b"").replace(b'\\"', b"")
    # A value has at most two strings: its name and itself.
    if plain.count(b'"') <= 4 * MAX_VALUES and _are_few(_outside_strings(plain)):
        return
    raise coded_error("api/too_many_values", pointer="", limit=MAX_VALUES, names=MAX_NAMES)


def _are_few(text: bytes) -> bool:
    values = text.count(b",") + text.count(b"[") + text.count(b"{")
    return values < MAX_VALUES and text.count(b":") <= MAX_NAMES


def _outside_strings(text: bytes) -> bytes:
    return b"".join(text.split(b'"')[::2])


def check(value: object, path: tuple[object, ...] = ()) -> None:
    """Refuse text and numbers that cannot be stored, anywhere in a JSON value."""
    if len(path) > MAX_DEPTH:
        _refuse("too_deep", path[:8], f"nested more than {MAX_DEPTH} levels deep")
    match value:
        case str():
            check_text(value, path)
        case float() if not math.isfinite(value):
            _refuse("number_out_of_range", path, "the number is too large")
        case bool() | None:
            pass
        case int() if abs(value) > MAX_INT:
            _refuse("number_out_of_range", path, "the number does not fit 64 bits")
        case list() if len(path) == MAX_DEPTH or not _are_fine(value):
            for index, item in enumerate(value):
                check(item, (*path, index))
        case dict() if len(path) == MAX_DEPTH or not _are_fine_members(value):
            for key, item in value.items():
                check_text(key, path)
                check(item, (*path, key))


def _are_fine(values: Collection[Any]) -> bool:
    """Whether these are texts or whole numbers that can be stored, told without a look at each.

    A walk over 50,000 values takes 25 ms; only what fails here is walked, to name its place.
    """
    kinds = set(map(type, values))
    if kinds == {str}:
        return _is_text("".join(values))
    return kinds == {int} and min(values) >= -MAX_INT and max(values) <= MAX_INT


def _are_fine_members(value: dict[str, Any]) -> bool:
    return _are_fine(value) and _are_fine(value.values())


def check_text(text: str, path: tuple[object, ...]) -> None:
    """Refuse NUL and lone surrogates, which are no text."""
    if not _is_text(text):
        _refuse("invalid_text", path, "text must not contain NUL or half of a character")


def _is_text(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return "\0" not in text


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Build an object; refuse duplicate names, because parsers disagree on which value counts."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError
    return found


def no_constant(_: str) -> NoReturn:
    """Refuse NaN and the infinities: JSON has no such numbers."""
    raise ValueError


def _refuse(code: str, path: tuple[object, ...], detail: str) -> NoReturn:
    raise coded_error(f"api/{code}", pointer=pointer(path), detail=detail)
