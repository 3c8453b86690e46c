"""The checkpoints of a session over the API."""

from typing import Any

import pytest
from starlette.testclient import TestClient

from understudy.daemon.wiring import Daemon
from understudy.sessions.journal import EventKind, NewEvent

NOW = 1_700_000_000_000


def checkpoint(daemon: Daemon, data: Any) -> None:
    with daemon.resources.units.write() as unit:
        event = NewEvent(kind=EventKind.CHECKPOINT, run_id="run_1", data=data)
        unit.journal.append("s1", (event,), at_ms=NOW)


@pytest.fixture
def session(api: TestClient) -> str:
    api.post("/v1/sessions", json={"session_id": "s1"})
    return "/v1/sessions/s1/checkpoints"


def test_a_session_without_checkpoints_has_an_empty_list(api: TestClient, session: str) -> None:
    assert api.get(session).json() == {"items": [], "next_cursor": None}


def test_checkpoints_are_listed_newest_first(api: TestClient, daemon: Daemon, session: str) -> None:
    for number in range(1, 4):
        tokens = {"tokens_before": 100 * number, "tokens_after": 10 * number}
        checkpoint(daemon, {"summary": f"part {number}", "upto_offset": number, **tokens})

    first = api.get(session, params={"limit": 2}).json()
    rest = api.get(session, params={"limit": 2, "cursor": first["next_cursor"]}).json()

    assert [item["summary"] for item in first["items"]] == ["part 3", "part 2"]
    [last] = rest["items"]
    assert rest["next_cursor"] is None
    assert last.pop("offset") > 1
    assert last == {
        "at_ms": NOW,
        "run_id": "run_1",
        "summary": "part 1",
        "upto_offset": 1,
        "tokens_before": 100,
        "tokens_after": 10,
    }


@pytest.mark.parametrize("torn", [{}, {"summary": 3, "upto_offset": 1}, {"summary": "x"}, ["x"]])
def test_a_damaged_checkpoint_does_not_hide_the_others(
    api: TestClient, daemon: Daemon, session: str, torn: Any
) -> None:
    checkpoint(daemon, {"summary": "whole", "upto_offset": 1})
    checkpoint(daemon, torn)

    answer = api.get(session)

    assert answer.status_code == 200
    assert [item["summary"] for item in answer.json()["items"]] == ["whole"]


@pytest.mark.parametrize("cursor", ["nonsense", "WyJhIl0", "WzEsMl0"])
def test_a_foreign_cursor_is_refused(api: TestClient, session: str, cursor: str) -> None:
    answer = api.get(session, params={"cursor": cursor})

    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_cursor")


def test_a_session_that_is_not_there_is_not_found(api: TestClient) -> None:
    answer = api.get("/v1/sessions/nobody/checkpoints")

    assert (answer.status_code, answer.json()["code"]) == (404, "session_not_found")
