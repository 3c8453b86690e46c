"""Calls as data: paths, keys, what may be repeated."""

import pytest

from understudy.client.calls import HttpCall, at, body_of, post, query_of
from understudy.client.errors import InvalidCall
from understudy.wire.sessions import CreateSession


def test_ids_are_quoted_into_one_segment() -> None:
    assert at("sessions", "a/b ü?#", "runs") == "/v1/sessions/a%2Fb%20%C3%BC%3F%23/runs"


@pytest.mark.parametrize("dots", [".", ".."])
def test_dots_do_not_climb_the_path(dots: str) -> None:
    assert "/./" not in at("sessions", dots, "runs")
    assert "/../" not in at("sessions", dots, "runs")


def test_an_empty_id_is_refused_before_it_reads_the_whole_list() -> None:
    with pytest.raises(InvalidCall):
        at("sessions", "")


def test_every_post_carries_a_key_of_its_own() -> None:
    first, second = post("/v1/x"), post("/v1/x")

    assert first.idempotency_key != second.idempotency_key
    assert post("/v1/x", key="mine").idempotency_key == "mine"


def test_only_reads_and_keyed_calls_may_be_repeated() -> None:
    assert HttpCall(method="GET", path="/v1/x").may_repeat
    assert post("/v1/x").may_repeat
    assert not HttpCall(method="PUT", path="/v1/x", body={}).may_repeat
    assert not HttpCall(method="DELETE", path="/v1/x").may_repeat


def test_parts_of_a_query_that_are_none_are_left_out() -> None:
    assert query_of(limit=3, cursor=None, all=True) == {"limit": 3, "all": "true"}


def test_a_body_holds_what_was_set_in_models_at_any_depth() -> None:
    session = CreateSession(session_id="s1")

    assert body_of(session) == {"session_id": "s1"}
    assert body_of({"items": [session], "by_id": {"s1": session}, "reason": None}) == {
        "items": [{"session_id": "s1"}],
        "by_id": {"s1": {"session_id": "s1"}},
    }
    assert body_of("hello") == {"content": "hello"}
