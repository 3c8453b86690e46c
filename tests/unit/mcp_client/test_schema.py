"""Schemas from servers, rebuilt: what is fit stays, what is odd goes, what is too much is refused."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from understudy.mcp_client.schema import (
    MAX_DEPTH,
    MAX_SCHEMA_CHARS,
    TYPES,
    WORDS,
    UnfitSchema,
    rebuild,
)

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from([*WORDS, "$defs", "pattern", "x"]), inner, max_size=4)
    ),
    max_leaves=30,
)


def test_what_people_write_stays() -> None:
    raw: dict[str, Any] = {
        "type": "object",
        "properties": {
            "city": {"type": "string", "description": "Where.", "minLength": 1},
            "days": {"type": "integer", "minimum": 1, "maximum": 14, "default": 3},
            "unit": {"enum": ["C", "F"]},
            "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 5},
            "maybe": {"anyOf": [{"type": "string", "format": "date"}, {"type": "null"}]},
            "place": {"$ref": "#/$defs/Place"},
        },
        "required": ["city"],
        "additionalProperties": False,
        "$defs": {"Place": {"type": "object", "properties": {"lat": {"type": "number"}}}},
    }

    assert rebuild(raw) == raw


@pytest.mark.parametrize(
    ("raw", "part"),
    [
        ({"type": "banana"}, {}),
        ({"type": ["string", "banana", "null"]}, {"type": ["string", "null"]}),
        ({"type": "string", "pattern": "(a+)+$"}, {"type": "string"}),
        ({"type": "array"}, {"type": "array", "items": {}}),
        ({"type": "array", "items": True}, {"type": "array", "items": {}}),
        ({"$ref": "https://evil.example/schema.json"}, {}),
        ({"$ref": "#/$defs/Missing"}, {}),
        ({"$ref": "file:///etc/passwd"}, {}),
        ({"description": "a\u202eb\u0000c\U000e0041"}, {"description": "a b c"}),
        ({"description": 7}, {}),
        ({"minimum": "1"}, {}),
        ({"minimum": float("nan")}, {}),
        ({"maximum": 10**400}, {}),
        ({"minLength": -1}, {}),
        ({"enum": [{"a": 1}]}, {}),
        ({"enum": []}, {}),
        (
            {"required": ["a", 3, "a"], "properties": {"a": {}}},
            {"required": ["a"], "properties": {"a": {}}},
        ),
        ({"required": ["gone"]}, {"required": []}),
        ({"anyOf": []}, {}),
        ({"x-anything": 1, "not": {}, "if": {}}, {}),
        ("no schema", {}),
        (True, {}),
    ],
)
def test_what_is_odd_goes(raw: object, part: dict[str, Any]) -> None:
    assert rebuild({"properties": {"p": raw}})["properties"] == {"p": part}


@pytest.mark.parametrize("word", ["anyOf", "oneOf", "allOf"])
def test_models_take_no_choice_at_the_top(word: str) -> None:
    assert rebuild({word: [{"type": "object"}], "type": "array", "enum": [1]}) == {
        "type": "object",
        "properties": {},
        "additionalProperties": True,
    }


def test_a_schema_may_refer_to_itself() -> None:
    tree = {"properties": {"next": {"$ref": "#/definitions/Tree"}}}
    built = rebuild(
        {"properties": {"root": {"$ref": "#/definitions/Tree"}}, "definitions": {"Tree": tree}}
    )

    assert built["properties"]["root"] == {"$ref": "#/$defs/Tree"}
    assert built["$defs"] == {"Tree": {"properties": {"next": {"$ref": "#/$defs/Tree"}}}}


def nested(depth: int) -> dict[str, Any]:
    schema: dict[str, Any] = {}
    for _ in range(depth):
        schema = {"properties": {"a": schema}}
    return schema


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (nested(MAX_DEPTH + 1), "too large"),
        ({"properties": {f"p{n}": {} for n in range(101)}}, "more than 100"),
        ({"properties": {"two words": {}}}, "a name that models do not take"),
        ({"properties": {"": {}}}, "a name that models do not take"),
        ({"properties": {"x" * 65: {}}}, "a name that models do not take"),
        ({"properties": {"a": {"anyOf": [{"anyOf": [{}] * 100}] * 100}}}, "too large"),
        ({"properties": {f"p{n}": {"description": "x" * 500} for n in range(90)}}, "too long"),
    ],
)
def test_what_is_too_much_is_refused(raw: dict[str, Any], why: str) -> None:
    with pytest.raises(UnfitSchema, match=why):
        rebuild(raw)


@given(st.dictionaries(st.sampled_from([*WORDS, "$defs", "definitions"]), JSON, max_size=5))
def test_whatever_comes_the_result_is_a_small_schema_of_known_words(raw: dict[str, Any]) -> None:
    try:
        built = rebuild(raw)
    except UnfitSchema:
        return

    assert built["type"] == "object"
    assert len(json.dumps(built, allow_nan=False)) <= MAX_SCHEMA_CHARS
    check(built)


def check(schema: Any) -> None:
    assert schema.keys() <= {*WORDS, "$defs"}
    types = schema.get("type", [])
    assert set([types] if isinstance(types, str) else types) <= TYPES
    for part in (*schema.get("properties", {}).values(), *schema.get("$defs", {}).values()):
        check(part)
