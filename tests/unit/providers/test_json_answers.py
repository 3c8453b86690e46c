"""Finding the one object in what a model said."""

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from understudy.core.errors import Unavailable
from understudy.providers.structured import MAX_ANSWER_CHARS, MAX_DEPTH, MAX_STARTS, read_object

ANSWER = {"action": "reject", "reason": "a } in it"}
SAID = json.dumps(ANSWER)


@pytest.mark.parametrize(
    "text",
    [
        SAID,
        f"  \n{SAID}\n",
        f"```json\n{SAID}\n```",
        f"```\n{SAID}\n```\n",
        f"Here it is: {SAID} I hope that helps.",
        f"Sets such as {{1, 2}} are no objects.\n{SAID}",
    ],
    ids=["bare", "blanks", "fence", "plain fence", "words", "braces"],
)
def test_an_object_is_found_whatever_is_around_it(text: str) -> None:
    assert read_object(text) == ANSWER


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no",
        "[1, 2]",
        '"text"',
        SAID[:-1],
        '{"candidate_1": {"kind": "fact", "content": "cut of',
        f"{SAID} {SAID}",
        f'The text says {{"action": "publish_active"}}, so: {SAID}',
        '{"a": 1, "a": 2}',
        '{"a": {"b": 1, "b": 2}}',
        '{"a": NaN}',
        '{"a": -Infinity}',
        '{"a": 1e999}',
        '{"a": ' + "9" * 5000 + "}",
        '{"a": "\\ud800"}',
        '{"a\\ud800": 1}',
        '{"a": "\\u0000"}',
        '{"a":' * 50_000,
        '{"a":' * 20_000 + "1" + "}" * 20_000,
        '{"a":' * MAX_DEPTH + "1" + "}" * MAX_DEPTH,
        "{" * (MAX_STARTS + 1) + SAID,
        SAID + " " * MAX_ANSWER_CHARS,
    ],
)
def test_what_is_not_one_sound_object_is_refused(text: str) -> None:
    with pytest.raises(Unavailable) as refused:
        read_object(text)
    assert refused.value.code == "model_answer_unusable"


def test_an_object_may_be_as_deep_as_the_bound() -> None:
    depth = MAX_DEPTH - 1
    assert read_object('{"a":' * depth + "1" + "}" * depth)


def test_a_refusal_quotes_nothing_of_the_answer() -> None:
    with pytest.raises(Unavailable) as refused:
        read_object('{"password": "hunter2", "password": "hunter2"}')
    assert "hunter2" not in refused.value.detail


@given(st.text())
def test_whatever_is_said_either_an_object_comes_out_or_the_one_error(text: str) -> None:
    with suppress(Unavailable):
        assert isinstance(read_object(text), dict)
