"""What is stored is shown, whatever it is."""

import json
from uuid import uuid4

import pytest

from tests.api.live import Live

HALF = "x\ud800y"
SHOWN = "x\ufffdy"


@pytest.fixture
def run(live: Live) -> dict[str, str]:
    session_id = f"s-{uuid4().hex}"
    live.session(session_id)
    live.model.queue("MARK")
    view = live.run(session_id, "hello", debug_level="full")
    return {"run_id": view["run_id"], "session_id": session_id}


def change(live: Live, statement: str, *values: str) -> None:
    with live.daemon.resources.database.begin() as connection:
        connection.exec_driver_sql(statement, values)


def test_half_a_character_in_the_journal_spoils_no_answer(live: Live, run: dict[str, str]) -> None:
    half = json.dumps(HALF)[1:-1]
    run_id, session_id = run["run_id"], run["session_id"]
    change(
        live,
        "UPDATE journal SET data = replace(data, 'MARK', ?) WHERE session_id = ?",
        half,
        session_id,
    )
    assert live.ok("GET", f"/v1/runs/{run_id}")["outputs"][0]["text"] == SHOWN
    assert live.ok("GET", f"/v1/sessions/{session_id}")["outputs"][0]["text"] == SHOWN
    for path in (
        "/v1/runs",
        f"/v1/runs/{run_id}/events",
        f"/v1/sessions/{session_id}/events",
    ):
        assert SHOWN in str(live.ok("GET", path))
    texts = [event.data["text"] for event in live.told(run_id) if event.name in ("delta", "output")]
    assert texts == [SHOWN, SHOWN]


def test_half_a_character_in_debug_spoils_no_answer(live: Live, run: dict[str, str]) -> None:
    half = json.dumps(HALF)[1:-1]
    change(live, "UPDATE debug_requests SET response = replace(response, 'MARK', ?)", half)
    (capture,) = live.ok("GET", f"/v1/runs/{run['run_id']}/debug")["items"]
    assert capture["response"]["text"] == SHOWN


def test_odd_numbers_and_errors_of_a_run_are_shown_as_far_as_they_go(
    live: Live, run: dict[str, str]
) -> None:
    run_id = run["run_id"]
    with live.daemon.resources.database.begin() as connection:
        (text,) = connection.exec_driver_sql(
            "SELECT state FROM runs WHERE run_id = ?", (run_id,)
        ).one()
        state = json.loads(text)
        state["error"] = HALF
        state["usage"] |= {"input_tokens": float("inf"), "output_tokens": 2.5, "tool_calls": None}
        state["usage"]["cache_read_tokens"] = float("nan")
        connection.exec_driver_sql(
            "UPDATE runs SET state = ? WHERE run_id = ?", (json.dumps(state), run_id)
        )
    view = live.ok("GET", f"/v1/runs/{run_id}")
    assert view["error"] == SHOWN
    usage = view["usage"]
    assert (usage["input_tokens"], usage["output_tokens"]) == (0, 2)
    assert (usage["cache_read_tokens"], usage["tool_calls"]) == (0, 0)
    assert run_id in [item["run_id"] for item in live.ok("GET", "/v1/runs")["items"]]


@pytest.mark.parametrize(
    "value", ['{"step":"one","text":"MARK"}', '{"deep":' + "[" * 400 + "]" * 400 + "}", "broken"]
)
def test_events_of_another_shape_are_shown(live: Live, run: dict[str, str], value: str) -> None:
    run_id, session_id = run["run_id"], run["session_id"]
    change(
        live,
        "UPDATE journal SET data = ? WHERE session_id = ? AND kind IN ('message', 'output')",
        value,
        session_id,
    )
    for path in (
        f"/v1/runs/{run_id}",
        f"/v1/runs/{run_id}/events",
        f"/v1/sessions/{session_id}",
        f"/v1/sessions/{session_id}/events",
    ):
        assert live.ok("GET", path)
    events = live.told(run_id)
    assert events[-1].data["status"] == "completed"
    assert live.told(run_id, last_id=events[-2].id)
