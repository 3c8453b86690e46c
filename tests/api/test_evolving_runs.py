"""Runs of an agent that evolves, as clients see them: languages, the offer in the stream, no nudges."""

import json
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest
from starlette.testclient import TestClient

from tests.api.commands import answer, invoke
from tests.api.live import Live, joined
from tests.support.evolving_runs import working
from understudy.evolution.nudges import nudge_text, postscript

DONE = "All of it is done."


@pytest.fixture
def session(live: Live) -> Iterator[str]:
    """A session of an agent that learns skills and has a small budget."""
    name = f"evolving-{uuid4().hex}"
    config = {"skill_evolve": True, "self_evolve": True, "skill_nudge_interval": 9}
    agent = {"agent_id": name, "agent_type": "predefined", "max_tool_iterations": 10}
    live.ok("POST", "/v1/agents", {**agent, "other_config": config})
    live.session(name, agent_id=name)
    live.model.rule = working(9, name="list_files", final=DONE)
    yield name
    live.model.rule = None


def test_joined_the_deltas_are_the_stored_reply_and_the_offer_is_the_last(
    live: Live, session: str
) -> None:
    run_id = live.submit(session, "tidy up")

    events = live.told(run_id)

    stored = live.ok("GET", f"/v1/runs/{run_id}")["outputs"][-1]["text"]
    assert stored == DONE + postscript("en")
    assert joined(events) == stored
    [output] = [event.data["text"] for event in events if event.name == "output"]
    assert output == stored
    assert joined(live.told(run_id)) == stored


@pytest.mark.parametrize("kind", ["typed", "cron", "schedule", "bootstrap"])
def test_a_run_has_the_tool_for_skills_and_its_rules_or_neither(
    live: Live, session: str, kind: str
) -> None:
    live.model.rule = None
    path = f"/v1/sessions/{session}/runs"
    if kind == "bootstrap":
        file = f"/v1/agents/{session}/files/BOOTSTRAP.md"
        live.ok("PUT", file, {"content": "Ask for a name."})
    if kind == "schedule":
        plan = {"type": "interval", "every_seconds": 3600}
        body = {"name": session, "target_session_id": session, "cadence": plan}
        made = live.ok("POST", "/v1/schedules", {**body, "request": {"content": "hi"}})
        fired = live.ok("POST", f"/v1/schedules/{made['schedule_id']}/trigger")
        run_id = fired["execution"]["run_id"]
    else:
        more = {"source_kind": "cron"} if kind == "cron" else {}
        run_id = live.ok("POST", path, {"content": "hi", **more})["run_id"]
    assert live.finished(run_id)["status"] == "completed"

    asked = [it for it in live.model.requests if "tools" in it.body][-1]
    tools = [it["function"]["name"] for it in asked.body["tools"]]
    has = kind == "typed"
    assert ("skill_manage" in tools, "### Skill Creation" in asked.system) == (has, has)
    assert "use_skill" in tools


def test_no_client_ever_sees_a_nudge(live: Live, session: str) -> None:
    run_id = live.submit(session, "tidy up")
    streamed = json.dumps([event.data for event in live.told(run_id)])
    sent = json.dumps([seen.body for seen in live.model.requests])
    journal = live.ok("GET", f"/v1/sessions/{session}/events?limit=200")
    views = [
        live.ok("GET", path)
        for path in (f"/v1/runs/{run_id}", f"/v1/runs/{run_id}/events", f"/v1/sessions/{session}")
    ]

    shown = streamed + json.dumps([journal, *views])
    for name in ("70", "90"):
        assert nudge_text(name, "en")[:40] in sent
        assert nudge_text(name, "en")[:40] not in shown
    noted = [event["data"]["nudge"] for event in journal["items"] if event["kind"] == "nudge"]
    assert noted == ["70", "90", "postscript"]


LANGUAGES: tuple[tuple[dict[str, Any], dict[str, str], str], ...] = (
    ({}, {}, "en"),
    ({}, {"Accept-Language": "fr, vi-VN;q=0.8, en;q=0.1"}, "vi"),
    ({"locale": "zh-Hans-CN"}, {"Accept-Language": "vi"}, "zh"),
    ({"locale": "tlh"}, {"Accept-Language": "vi"}, "en"),
    ({}, {"Accept-Language": "x" * 5000}, "en"),
)


def test_a_run_speaks_the_language_that_is_asked_for(live: Live, session: str) -> None:
    live.model.rule = None
    path = f"/v1/sessions/{session}/runs"

    for body, headers, spoken in LANGUAGES:
        run = live.ok("POST", path, {"content": "hi", **body}, headers=headers)
        assert run["locale"] == spoken
        assert live.finished(run["run_id"])["locale"] == spoken


def test_an_inline_run_speaks_it_too(live: Live, session: str) -> None:
    path, headers = f"/v1/sessions/{session}/input", {"Accept-Language": "vi"}

    live.ok("POST", path, {"content": "tidy up"}, headers=headers)

    [run] = live.ok("GET", f"/v1/runs?session_id={session}")["items"]
    assert run["outputs"][-1]["text"] == DONE + postscript("vi")


def test_what_is_no_language_tag_is_refused(api: TestClient) -> None:
    api.post("/v1/sessions", json={"session_id": "s1"})

    for locale in (7, ["vi"], "v" * 65):
        refused = api.post("/v1/sessions/s1/runs", json={"content": "hi", "locale": locale})
        assert refused.status_code == 400
        assert refused.json()["errors"][0]["pointer"] == "/locale"


def test_a_repeat_in_another_language_finds_the_first_run(live: Live, session: str) -> None:
    live.model.rule = None

    def submit(language: str) -> str:
        headers = {"Idempotency-Key": session, "Accept-Language": language}
        path = f"/v1/sessions/{session}/runs"
        run_id: str = live.ok("POST", path, {"content": "hi"}, headers=headers)["run_id"]
        return run_id

    assert submit("zh") == submit("vi")


@pytest.fixture
def vietnamese(live: Live) -> Iterator[dict[str, str]]:
    """Somebody whose token says what they read; without it the daemon wants none."""
    wanted = {"user_id": "van", "role": "admin", "locale": "vi-VN"}
    made = live.ok("POST", "/v1/tokens", wanted)
    headers = {"Authorization": f"Bearer {made['token']}"}
    yield headers
    live.ok("DELETE", f"/v1/tokens/{made['token_id']}?leave_no_admin=true", headers=headers)


BY_TOKEN: tuple[tuple[dict[str, str], dict[str, str], str], ...] = (
    ({}, {}, "vi"),
    ({}, {"Accept-Language": "fr"}, "vi"),
    ({}, {"Accept-Language": "zh, vi;q=0.5"}, "zh"),
    ({"locale": "zh"}, {"Accept-Language": "en"}, "zh"),
    ({"locale": "tlh"}, {}, "en"),
)


def test_runs_and_schedules_speak_the_language_of_the_token_where_nothing_else_is_said(
    live: Live, session: str, vietnamese: dict[str, str]
) -> None:
    live.model.rule = None
    schedule = {
        "name": session,
        "target_session_id": session,
        "cadence": {"type": "interval", "every_seconds": 3600},
    }

    def ok(method: str, path: str, body: Any = None, **headers: str) -> Any:
        return live.ok(method, path, body, headers={**vietnamese, **headers})

    for body, headers, spoken in BY_TOKEN:
        wanted = {"content": "hi", **body}
        run = ok("POST", f"/v1/sessions/{session}/runs", wanted, **headers)
        planned = ok("POST", "/v1/schedules", {**schedule, "request": wanted}, **headers)
        path = f"/v1/schedules/{planned['schedule_id']}"
        fired = ok("POST", f"{path}/trigger")["execution"]["run_id"]
        ok("POST", f"{path}/cancel")
        assert run["locale"] == planned["request"]["locale"] == spoken
        assert ok("GET", f"/v1/runs/{fired}")["locale"] == spoken


def test_a_schedule_keeps_the_language_of_its_runs(live: Live, session: str) -> None:
    live.model.rule = None
    made = live.ok(
        "POST",
        "/v1/schedules",
        {
            "name": session,
            "target_session_id": session,
            "cadence": {"type": "interval", "every_seconds": 3600},
            "request": {"content": "tidy up", "locale": "vi"},
        },
    )
    path = f"/v1/schedules/{made['schedule_id']}"

    fired = live.ok("POST", f"{path}/trigger")

    assert live.ok("GET", path)["request"]["locale"] == "vi"
    assert live.finished(fired["execution"]["run_id"])["locale"] == "vi"
    live.ok("POST", f"{path}/cancel")


@pytest.mark.parametrize("command", [("runs", "submit"), ("sessions", "input"), ("chat",)])
def test_commands_ask_for_a_language(live: Live, session: str, command: tuple[str, ...]) -> None:
    live.model.rule = None
    where = ("--session", session) if command == ("chat",) else (session,)

    invoke(live, *command, *where, "hello", "--locale", "zh-TW")

    [run] = live.ok("GET", f"/v1/runs?session_id={session}")["items"]
    assert run["locale"] == "zh"
    assert answer(live, "runs", "show", run["run_id"])["locale"] == "zh"
