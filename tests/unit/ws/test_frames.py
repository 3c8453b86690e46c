"""Frames and errors, as they are written."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from understudy.core import errors
from understudy.core.errors import Conflict, LimitExceeded, Unavailable, UnderstudyError
from understudy.wire.websocket import RequestFrame
from understudy.ws.connection import BadFrame, answer_frame, error_frame, event_frame, request_of
from understudy.ws.errors import CODES, error_of
from understudy.ws.limits import MAX_FRAME_BYTES

ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)
KINDS = [
    kind
    for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, UnderstudyError)
]


def test_a_request_needs_no_params() -> None:
    frame = request_of('{"type": "req", "id": 7, "method": "skills.list"}')

    assert (frame.id, frame.method, frame.params) == (7, "skills.list", None)


def read(value: object) -> RequestFrame | BadFrame:
    """A request, or why it is none; anything else that is raised fails the test."""
    try:
        return request_of(json.dumps(value))
    except BadFrame as bad:
        return bad


@settings(max_examples=40)
@given(ANY)
def test_whatever_is_no_object_is_refused_without_an_id(value: object) -> None:
    found = read([value])

    assert isinstance(found, BadFrame)
    assert found.id is None


@settings(max_examples=40)
@given(st.dictionaries(st.sampled_from(["type", "id", "method", "params", "x"]), ANY))
def test_only_an_id_that_could_be_one_is_repeated(fields: dict[str, object]) -> None:
    found = read({"type": "req", "method": "m", **fields})

    assert found.id is None or found.id == fields["id"]
    assert type(found.id) in (str, int, type(None))


@pytest.mark.parametrize("params", [r'{"name": "\ud800"}', r'{"\u0000": 1}', '{"n": 1e999}'])
@pytest.mark.parametrize("written", ['"a-1"', "7"])
def test_what_cannot_be_kept_is_refused_under_the_id_that_could_be_read(
    params: str, written: str
) -> None:
    with pytest.raises(BadFrame) as bad:
        request_of(f'{{"type": "req", "id": {written}, "method": "m", "params": {params}}}')

    assert bad.value.id == json.loads(written)


@pytest.mark.parametrize("written", [r'"\ud800"', r'"a\u0000"', str(2**63), "true", '""'])
def test_an_id_that_cannot_be_sent_back_is_none(written: str) -> None:
    with pytest.raises(BadFrame) as bad:
        request_of(f'{{"type": "req", "id": {written}, "method": "m"}}')

    assert bad.value.id is None


def test_an_answer_that_no_frame_can_hold_is_not_sent() -> None:
    assert len(answer_frame("x", {"text": "y" * (MAX_FRAME_BYTES - 100)})) <= MAX_FRAME_BYTES
    for text in ("y" * MAX_FRAME_BYTES, "ü" * (MAX_FRAME_BYTES // 2)):
        with pytest.raises(LimitExceeded, match="HTTP"):
            answer_frame("x", {"text": text})


def test_an_event_has_whole_characters_and_finite_numbers() -> None:
    sent = json.loads(event_frame("e", {"text": "a\ud800", "number": float("nan")}, 3))

    assert sent["payload"] == {"text": "a\N{REPLACEMENT CHARACTER}", "number": None}
    assert sent["seq"] == 3


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_error_has_a_code_that_is_no_fault_of_ours(kind: type[UnderstudyError]) -> None:
    code = error_of(kind("some_code", domain="skills")).code

    assert (code == "INTERNAL") is (kind is UnderstudyError)
    assert code in CODES.values()


def test_only_what_may_help_is_to_be_tried_again() -> None:
    again, not_again = error_of(Unavailable("gone")), error_of(Conflict("changed"))

    assert (again.retryable, again.retryAfterMs) == (True, 1000)
    assert (not_again.retryable, not_again.retryAfterMs) == (False, None)
    assert "retryAfterMs" not in error_frame("x", not_again)


def test_of_what_nobody_foresaw_nothing_is_told() -> None:
    told = error_of(ValueError("a password")).model_dump_json()

    assert "password" not in told
    assert '"INTERNAL"' in told


def test_params_of_an_error_are_told() -> None:
    error = LimitExceeded("too_large", domain="skills", params={"limit_bytes": 7})

    assert error_of(error).details == {
        "domain": "skills",
        "code": "too_large",
        "params": {"limit_bytes": 7},
    }
