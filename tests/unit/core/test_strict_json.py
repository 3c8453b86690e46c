"""JSON that is refused before it is parsed."""

import json

import pytest

from understudy.core.errors import UnderstudyError
from understudy.core.strict_json import MAX_VALUES, parse


@pytest.mark.parametrize(
    "body",
    [
        b"[" + b"0," * MAX_VALUES + b"0]",
        b"[" + b"[]," * MAX_VALUES + b"0]",
        b'{"a": "\\\\", "b": [' + b'"",' * MAX_VALUES + b"0]}",
        b"[" + b'"' * (5 * MAX_VALUES) + b"," * MAX_VALUES,
    ],
    ids=["numbers", "lists", "behind an escape", "quotes"],
)
def test_a_body_of_too_many_values_is_not_parsed(body: bytes) -> None:
    with pytest.raises(UnderstudyError) as refused:
        parse(body)

    assert refused.value.code == "too_many_values"


@pytest.mark.parametrize("text", ["a,b" * MAX_VALUES, '\\",[{' * MAX_VALUES, '",' * MAX_VALUES])
def test_what_stands_in_a_string_is_no_value(text: str) -> None:
    assert parse(json.dumps({"text": text})) == {"text": text}
