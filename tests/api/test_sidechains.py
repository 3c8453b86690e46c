"""Sidechains over HTTP and from the command line, with the whole daemon behind them."""

import json
from typing import Any

from starlette.testclient import TestClient

from tests.api.live import Live
from tests.api.test_resources import ok, put_skills, refused
from tests.support.command_line_in_process import typed
from tests.support.daemon import wait_for
from tests.support.model_scripts import answering, ask, play
from understudy.client import Client
from understudy.testing.answers import Answer, FakeCall, call

WAIT = call("wait_sidechain")


def spawn(task: str, **more: Any) -> Any:
    return call("spawn_sidechain", {"task": task, **more})


def sidechains(live: Live, session_id: str) -> list[dict[str, Any]]:
    page: dict[str, Any] = live.ok("GET", f"/v1/sessions/{session_id}/sidechains")
    items: list[dict[str, Any]] = page["items"]
    return items


def test_a_run_waits_for_its_sidechain_and_uses_what_it_said(live: Live) -> None:
    live.session("boss")
    live.model.rule = play(
        {
            "boss": [
                spawn("worker", label="w"),
                WAIT,
                answering("green"),
                WAIT,
                lambda seen: seen.turns[-1].text,
            ],
            "worker": [ask("Which colour?"), lambda seen: f"painted {seen.turns[-1].text}"],
        }
    )

    done = live.run("boss", "boss, begin")

    assert done["status"] == "completed"
    assert "green" in done["outputs"][-1]["text"]
    [child] = sidechains(live, "boss")
    assert child["last_run"]["status"] == "completed"
    assert (child["label"], child["is_live"], child["status"]) == ("w", False, "active")
    assert child["spawned_by_run_id"] == done["run_id"]
    view = live.ok("GET", f"/v1/sessions/{child['session_id']}")
    assert view["parent_session_id"] == "boss"


def test_cancelling_the_parent_cancels_what_works_for_it(live: Live) -> None:
    live.session("busy")
    endless = [Answer(calls=(FakeCall(name="list_files"),), delay_s=0.3)] * 500
    live.model.rule = play({"busy": [spawn("one"), spawn("one"), WAIT], "one": endless})
    run_id = live.submit("busy", "busy, begin")
    wait_for(lambda: len(sidechains(live, "busy")) == 2, 20, what="two sidechains")

    live.ok("POST", f"/v1/runs/{run_id}/cancel")

    def stopped() -> bool:
        runs = [each["last_run"]["status"] for each in sidechains(live, "busy")]
        return all(status in ("cancelled", "failed") for status in runs)

    assert live.finished(run_id)["status"] == "cancelled"
    wait_for(stopped, 20, what="the sidechains to stop")


def test_a_child_that_asks_while_its_parent_rests_is_answered_by_a_run_of_its_own(
    live: Live,
) -> None:
    def answer(seen: Any) -> Any:
        asked = json.loads(seen.last_user.partition("\n")[2])
        answers = [{"question_id": "q1", "freeform_answer": "yes"}]
        arguments = {"request_id": asked["request_id"], "answers": answers}
        return call("answer_sidechain", arguments)

    live.session("resting")
    live.model.rule = play(
        {
            "resting": [spawn("asker")],
            "asker": [ask("Shall I?"), lambda seen: f"heard {seen.turns[-1].text}"],
            "A sidechain of this session asks": [answer, "answered"],
        }
    )
    live.run("resting", "resting, begin")

    def heard() -> dict[str, Any] | None:
        [child] = sidechains(live, "resting")
        return child if child["last_run"]["status"] == "completed" else None

    child = wait_for(heard, 20, what="the child to be answered")
    outputs = live.ok("GET", f"/v1/runs/{child['last_run']['run_id']}")["outputs"]
    assert "yes" in outputs[-1]["text"]
    kinds = [run["kind"] for run in live.ok("GET", "/v1/runs?session_id=resting")["items"]]
    assert kinds == ["parent_clarification", "input"]


def test_the_command_line_and_the_client_list_them(live: Live) -> None:
    live.session("root")
    live.session("leaf", parent_session_id="root")
    url = str(live.client.base_url)

    result = typed("sessions", "sidechains", "root", "--url", url, "--json")

    assert result.exit_code == 0, result.output
    [shown] = json.loads(result.stdout)["items"]
    assert (shown["session_id"], shown["is_live"]) == ("leaf", False)
    assert "last_run" not in shown
    with Client(url) as client:
        assert [each.session_id for each in client.sessions.sidechains("root")] == ["leaf"]


def test_a_person_makes_sidechains_only_so_deep(api: TestClient) -> None:
    ok(api, "POST", "/v1/sessions", {"session_id": "d0"})
    for depth in (1, 2, 3):
        body = {"session_id": f"d{depth}", "parent_session_id": f"d{depth - 1}"}
        ok(api, "POST", "/v1/sessions", body)

    body = {"session_id": "d4", "parent_session_id": "d3"}
    assert refused(api, "POST", "/v1/sessions", body) == (409, "sessions/sidechain_limit")
    # The one that is there is found again.
    ok(api, "POST", "/v1/sessions", {"session_id": "d3", "parent_session_id": "d2"})
    assert [
        each["session_id"] for each in ok(api, "GET", "/v1/sessions/d0/sidechains")["items"]
    ] == ["d1"]
    assert refused(api, "GET", "/v1/sessions/nowhere/sidechains") == (
        404,
        "sessions/session_not_found",
    )


def test_the_scope_of_a_sidechain_is_not_cleared(api: TestClient) -> None:
    put_skills(api, "alpha", "beta", "gamma")
    scope = {"skill_allow": ["alpha", "beta"]}
    ok(api, "POST", "/v1/sessions", {"session_id": "root", "capability_scope": scope})
    ok(api, "POST", "/v1/sessions", {"session_id": "leaf", "parent_session_id": "root"})

    path = "/v1/sessions/leaf/capability-scope"
    assert refused(api, "DELETE", path) == (409, "sessions/sidechain_scope_kept")
    wider = {"capability_scope": {"skill_allow": ["beta", "gamma"]}}
    changed = ok(api, "PUT", path, wider)
    assert changed["effective_capability_scope"] == {"skill_allow": ["beta"]}
