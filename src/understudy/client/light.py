"""Answers read by the shape of their fields, without their models, whose import lasts longer than
most commands do."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, make_dataclass
from functools import cache
from importlib import import_module
from typing import Any, Final

from understudy.client.shapes import SHAPES

FIELD: Final = re.compile(
    r"(?P<name>\w+)(?:=(?P<key>\w+))?(?::(?P<kind>[^?]+))?(?:\?(?P<default>.*))?"
)
MODULES: Final[Mapping[str, str]] = {
    name: module for module, kinds in SHAPES.items() for name in kinds
}
NESTED: Final = {"[": list, "{": dict}


class NotLight(Exception):
    """An answer is not of the shape that is known here; its model says what is wrong with it."""


class LightRecord:
    """The fields of a record as attributes. For anything else that it can, its model is imported."""

    # Whatever is shown is asked whether it goes on; only pages do.
    next_cursor: str | None = None

    def __init__(self, **fields: Any) -> None:
        vars(self).update(fields)

    def __getattr__(self, name: str) -> Any:
        raw = vars(self).get("_raw", {})
        if name in raw:
            return raw[name]
        module = MODULES.get(type(self).__name__)
        if module is None or name.startswith("__"):
            raise AttributeError(f"{type(self).__name__!r} has no attribute {name!r}")
        from understudy.core.records import parsed

        return getattr(parsed(getattr(import_module(module), type(self).__name__), raw), name)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]  # as of any record that holds lists


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """The class of a record, and what each of its attributes is read from."""

    made: type[LightRecord]
    fields: tuple[tuple[str, str, str | None, str | None], ...]

    def read(self, answer: object) -> LightRecord:
        """The record in a JSON object; raises `NotLight`."""
        if not isinstance(answer, dict):
            raise NotLight
        values: dict[str, Any] = {"_raw": answer}
        for name, key, kind, default in self.fields:
            if key in answer:
                value = answer[key]
            elif name in answer:
                value = answer[name]
            elif default is None:
                raise NotLight
            else:
                value = json.loads(default)
            # Whether another field may be null, its model knows.
            if value is None and kind is not None and default != "null":
                raise NotLight
            values[name] = value if kind is None else _nested(kind, value)
        return self.made(**values)


def read_light(kind: str, answer: object) -> Any:
    """An answer as its annotation says; raises `NotLight` where only the model can tell."""
    if kind not in MODULES:
        raise NotLight
    return shape_of(kind).read(answer)


@cache
def shape_of(kind: str) -> Shape:
    """The shape of a type, from the table."""
    matches = [FIELD.fullmatch(text) for text in SHAPES[MODULES[kind]][kind].split(" ")]
    found = tuple(
        (each["name"], each["key"] or each["name"], each["kind"], each["default"])
        for each in matches
        if each is not None
    )
    # With a text of its own: otherwise one is made from the signature, which is slow.
    made = make_dataclass(
        kind,
        [name for name, *_ in found],
        bases=(LightRecord,),
        namespace={"__doc__": f"The fields of `{kind}`."},
        init=False,
        repr=False,
        eq=False,
    )
    return Shape(made=made, fields=found)


def _nested(kind: str, value: Any) -> Any:
    """The records in a field; None where there are none."""
    if value is None:
        return None
    container = NESTED.get(kind[0])
    if container is None:
        return shape_of(kind).read(value)
    if not isinstance(value, container):
        raise NotLight
    inner = shape_of(kind[1:-1])
    if isinstance(value, dict):
        return {name: inner.read(each) for name, each in value.items()}
    return [inner.read(each) for each in value]
