"""The one JSON object in what a model said, which may be fenced or have words around it."""

import json
import math
from collections.abc import Iterator
from typing import Any, Final, NoReturn

from understudy.core.errors import Unavailable

# Far more than an answer of some fields needs.
MAX_ANSWER_CHARS: Final = 64 * 1024
MAX_DEPTH: Final = 8
# Words around an answer may hold braces, but not without end.
MAX_STARTS: Final = 64


def read_object(text: str) -> dict[str, Any]:
    """The object in an answer; `Unavailable` where there is none, or more than one.

    Of two nobody can tell which was meant: one may be a quotation of what the model was shown.
    """
    if len(text) > MAX_ANSWER_CHARS:
        raise unusable(f"it is longer than {MAX_ANSWER_CHARS} characters")
    try:
        found = list(_objects(text))
    except (ValueError, RecursionError):
        raise unusable("its JSON has a field twice, a number out of bounds or no end") from None
    if len(found) != 1:
        raise unusable("it holds more than one JSON object" if found else "it holds no JSON object")
    _check(found[0])
    return found[0]


def unusable(why: str) -> Unavailable:
    """The error for an answer that is no answer to what was asked; it quotes nothing of it."""
    return Unavailable(
        "model_answer_unusable",
        domain="providers",
        detail=f"the answer of the model cannot be used: {why}",
    )


def _objects(text: str) -> Iterator[dict[str, Any]]:
    """Every outermost object; each character is read by one attempt only."""
    at = text.find("{")
    for _ in range(MAX_STARTS):
        if at < 0:
            return
        try:
            value, end = _DECODER.raw_decode(text, at)
            yield value
        except json.JSONDecodeError as problem:
            end = max(problem.pos, at + 1)
        at = text.find("{", end)
    raise ValueError("too many braces")


def _check(value: dict[str, Any]) -> None:
    if _depth(value) > MAX_DEPTH:
        raise unusable("its JSON is nested too deeply")
    written = json.dumps(value, ensure_ascii=False)
    try:
        written.encode()
    except UnicodeEncodeError:
        raise unusable("it holds half of a surrogate pair") from None
    if "\\u0000" in written:
        raise unusable("it holds a NUL character")


def _depth(value: object) -> int:
    depth, level = 0, [value]
    while level:
        depth += 1
        level = [inner for outer in level for inner in _inside(outer)]
    return depth


def _inside(value: object) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("a field is there twice")
    return made


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError("the number is too large")
    return number


def _no_constant(_: str) -> NoReturn:
    raise ValueError("no number")


_DECODER: Final = json.JSONDecoder(
    object_pairs_hook=_once, parse_float=_finite, parse_constant=_no_constant
)
