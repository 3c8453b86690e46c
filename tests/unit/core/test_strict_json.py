"""JSON that is refused before it is parsed."""

import json

import pytest

from understudy.core.errors import Invalid, UnderstudyError
from understudy.core.strict_json import (
    MAX_DEPTH,
    MAX_INT,
    MAX_NAMES,
    MAX_VALUES,
    check,
    parse,
    parse_mended,
)


@pytest.mark.parametrize(
    "body",
    [
        b"[" + b"0," * MAX_VALUES + b"0]",
        b"[" + b"[]," * MAX_VALUES + b"0]",
        b'{"a": "\\\\", "b": [' + b'"",' * MAX_VALUES + b"0]}",
        b"[" + b'"' * (5 * MAX_VALUES) + b"," * MAX_VALUES,
        b"{" + b",".join(b'"k%d":0' % it for it in range(MAX_NAMES + 1)) + b"}",
        b"[" + b'{"a":0},' * MAX_NAMES + b'{"a":0}]',
    ],
    ids=["numbers", "lists", "behind an escape", "quotes", "names", "names of many objects"],
)
def test_a_body_of_too_many_values_is_not_parsed(body: bytes) -> None:
    with pytest.raises(UnderstudyError) as refused:
        parse(body)

    assert refused.value.code == "too_many_values"


@pytest.mark.parametrize(
    "text", ["a,b" * MAX_VALUES, '\\",[{' * MAX_VALUES, '",' * MAX_VALUES, '":' * MAX_VALUES]
)
def test_what_stands_in_a_string_is_no_value(text: str) -> None:
    assert parse(json.dumps({"text": text})) == {"text": text}


def test_as_many_names_as_are_allowed_are_parsed() -> None:
    many = {f"k{it}": 0 for it in range(MAX_NAMES)}

    assert parse(json.dumps(many)) == many


def nested(inner: str, levels: int) -> str:
    return "[" * levels + inner + "]" * levels


@pytest.mark.parametrize(
    ("body", "code", "pointer"),
    [
        ('{"a": ["x", "\\u0000"]}', "invalid_text", "/a/1"),
        ('{"a": ["\\ud800", "\\udc00"]}', "invalid_text", "/a/0"),
        ('{"a": {"b": "x", "\\ud800": "y"}}', "invalid_text", "/a"),
        (f'{{"a": [0, {MAX_INT + 1}]}}', "number_out_of_range", "/a/1"),
        (f'{{"a": [0, {-MAX_INT - 1}]}}', "number_out_of_range", "/a/1"),
        ('{"a": [0, "x", 1e999]}', "number_out_of_range", "/a/2"),
        (nested("0", MAX_DEPTH + 1), "too_deep", "/0/0/0/0/0/0/0/0"),
    ],
)
def test_what_cannot_be_stored_is_found_among_values_that_can(
    body: str, code: str, pointer: str
) -> None:
    with pytest.raises(Invalid) as refused:
        parse(body)

    assert refused.value.code == code
    assert [each.pointer for each in refused.value.errors] == [pointer]


@pytest.mark.parametrize(
    "value", [[], {}, [True, None], ["a", ""], [MAX_INT, -MAX_INT], {"a": 1, "b": {"c": "d"}}]
)
def test_what_can_be_stored_is_taken_as_it_is(value: object) -> None:
    assert parse(json.dumps(value)) == value
    assert parse(nested("0", MAX_DEPTH)) is not None


def test_what_cannot_be_stored_is_replaced_where_nobody_can_correct_it() -> None:
    deep = "[" * 200 + "]" * 200
    body = (
        '{"a": "\\u0000\\ud800x\\ud83d\\ude00", "b": 1e999, "c": 1' + "0" * 30 + f', "d": {deep}}}'
    )

    found = parse_mended(body)

    assert (found["a"], found["b"], found["c"]) == (
        "\ufffd\ufffdx\U0001f600",
        "inf",
        "1" + "0" * 30,
    )
    check(found)
    assert parse_mended('{"a": [1, "x"]}') == {"a": [1, "x"]}


@pytest.mark.parametrize("body", ["", "{", "NaN", '{"a": 1, "a": 2}'])
def test_what_is_no_json_is_refused_and_not_mended(body: str) -> None:
    with pytest.raises(Invalid):
        parse_mended(body)
