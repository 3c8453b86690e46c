"""Isolation per user: what belongs to others does not exist, on any operation."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.api.conftest import ADMIN, idle_daemon
from tests.api.furniture import MAKERS
from tests.api.skill_users import Person
from tests.support.factories import make_background_task, make_new_event, make_run
from tests.support.openapi import committed_document
from understudy.api.app import create_app
from understudy.api.sse import all_events
from understudy.background_tasks.model import OutputPiece
from understudy.core.ids import new_id
from understudy.core.principal import Principal, Role
from understudy.core.visibility import current_visibility, visibility_of
from understudy.daemon.wiring import Daemon
from understudy.runs.artifacts import Artifact
from understudy.runs.model import RunRequest
from understudy.runs.requests import PersonRequest, RequestKind
from understudy.sessions.journal import FeedPlace

CONFIG = 'isolation = "per_user"\n'
# In everything that Ada says.
MARK = "zanzibar"
# Operations whose answer may differ between what is Ada's and what is not there, and why.
EXEMPT: Mapping[str, str] = {
    "agents.prompt_preview": "a prompt tells the time",
    "sessions.prompt_preview": "a prompt tells the time",
    "audit.list": "it names what the caller just asked for",
    "console.link": "each link is another one",
    "personas.create": "each persona is another one",
    "sessions.create": "each session is another one",
}
# Paths that end when their reader leaves.
STREAMS = ("runs.stream", "sessions.stream", "events.stream")


def operations() -> Iterator[tuple[str, str, str]]:
    for path, methods in committed_document()["paths"].items():
        for method, operation in methods.items():
            yield operation["operationId"], method.upper(), path


OPERATIONS = {name: (method, path) for name, method, path in operations() if name not in STREAMS}
LISTS = {n for n, (method, path) in OPERATIONS.items() if method == "GET" and "{" not in path}


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory, fresh_database: Path) -> Iterator[Daemon]:
    home = tmp_path_factory.mktemp("isolated") / "home"
    home.mkdir(parents=True)
    (home / "config.toml").write_text(CONFIG)
    daemon = idle_daemon(home, fresh_database, UNDERSTUDY_ADMIN_TOKEN=ADMIN)
    yield daemon
    daemon.resources.database.dispose()


@pytest.fixture(scope="module")
def client(daemon: Daemon) -> Iterator[TestClient]:
    app = create_app(daemon.services)
    with TestClient(app, base_url="http://127.0.0.1:4600") as client:
        yield client


def person(client: TestClient, user_id: str, role: str = "operator") -> Person:
    token = client.post(
        "/v1/tokens",
        json={"user_id": user_id, "role": role},
        headers={"Authorization": f"Bearer {ADMIN}"},
    ).json()["token"]
    return Person(client, {"Authorization": f"Bearer {token}"})


@pytest.fixture(scope="module")
def bob(client: TestClient) -> Person:
    return person(client, "bob")


@pytest.fixture(scope="module")
def before(client: TestClient, bob: Person) -> Mapping[str, Any]:
    """What Bob is answered while there is nothing of anybody's."""
    return {name: told(bob, name) for name in LISTS}


@pytest.fixture(scope="module")
def ada(client: TestClient, daemon: Daemon, before: object) -> Mapping[str, str]:
    """The ids of what is Ada's: one of each."""
    ada = person(client, "ada")
    made: dict[str, str] = {"session_id": f"{MARK}-session"}
    ada.ok("POST", "/v1/sessions", {"session_id": made["session_id"]})
    run = make_run(made["session_id"], user_id="ada", request=RunRequest(text_preview=MARK))
    with daemon.resources.units.write() as unit:
        unit.runs.add(run)
        said_so = make_new_event(data={"text": MARK}, run_id=run.run_id)
        unit.journal.append(run.session_id, [said_so], at_ms=run.submitted_at_ms)
    made["run_id"] = run.run_id
    made["task_id"] = ada.ok("POST", f"/v1/sessions/{made['session_id']}/tasks", {"title": MARK})[
        "task_id"
    ]
    task = make_background_task(run, command=MARK)
    with daemon.resources.units.write() as unit:
        unit.background_tasks.add(task)
        unit.background_tasks.append(task.task_id, OutputPiece(start=0, text=MARK))
    made["background_task_id"] = task.task_id
    made["schedule_id"] = MAKERS["schedule_id"](ada, made)
    made["message_id"] = ada.ok(
        "POST", "/v1/mailboxes", {"session_id": made["session_id"], "content": MARK}
    )["message_id"]
    made["asset_id"] = ada.ok(
        "POST", "/v1/assets", {"file_name": f"{MARK}.txt", "content_base64": "emFuemliYXI="}
    )["asset_id"]
    said = {
        "scope": {"kind": "session", "id": made["session_id"]},
        "kind": "fact",
        "content": f"The word is {MARK}.",
        "source": {"run_id": made["run_id"], "session_id": made["session_id"]},
    }
    made["candidate_id"] = ada.ok("POST", "/v1/learning-candidates", said)["candidate_id"]
    other = {**said, "content": f"The town is {MARK}."}
    candidate = ada.ok("POST", "/v1/learning-candidates", other)["candidate_id"]
    # Without a scope it would be published for the workspace, which everybody sees.
    own = {"scope": said["scope"]}
    made["learning_id"] = ada.ok("POST", f"/v1/learning-candidates/{candidate}/publish", own)[
        "learning_id"
    ]
    ada.ok("PUT", "/v1/agents/default/users/ada/files/USER.md", {"content": f"I like {MARK}."})
    with daemon.resources.units.write() as unit:
        where: dict[str, Any] = {
            "run_id": run.run_id,
            "call_key": MARK,
            "created_at_ms": run.submitted_at_ms,
        }
        request = PersonRequest(
            request_id=new_id("req"),
            kind=RequestKind.APPROVAL,
            session_id=run.session_id,
            body={"tool_name": "shell", "arguments": {"command": MARK}, "reason": MARK},
            **where,
        )
        unit.requests.add(request)
        artifact = Artifact(
            artifact_id=new_id("art"), tool_name="shell", size=8, content=MARK, **where
        )
        unit.artifacts.add(artifact)
    return {**made, "request_id": request.request_id, "artifact_id": artifact.artifact_id}


@pytest.fixture(scope="module")
def after(ada: object, bob: Person) -> Mapping[str, Any]:
    """What Bob is answered once Ada has one of each, before he makes anything himself."""
    return {name: told(bob, name) for name in LISTS}


def absent(there: str) -> str:
    """An id of the same form that nothing has."""
    return re.sub(r"_\w+$", f"_{'0' * 26}", there) if "_" in there else "no-such-session"


def told(caller: Person, name: str, ids: Mapping[str, str] | None = None) -> Any:
    """What an operation answers, without what differs from call to call."""
    method, path = OPERATIONS[name]
    filled = path
    for field in re.findall(r"{(\w+)(?::path)?}", path):
        # Paths call two things by this name.
        is_background = field == "task_id" and name.startswith("background_tasks.")
        known = "background_task_id" if is_background else field
        filled = re.sub(
            rf"{{{field}(:path)?}}", (ids or {}).get(known, FIXED.get(field, "x")), filled
        )
    query = {each: (ids or {})[each] for each in ("session_id", "run_id") if ids}
    if "scope" in name or not ids:
        query = {}
    body = BODIES.get(name, lambda _: {})(ids or {}) if method != "GET" else None
    answer = caller.call(method, filled, body, params=query)
    assert answer.status_code < 500, answer.text
    return answer.status_code, VOLATILE.sub("", answer.text)


FIXED = {
    "agent_id": "default",
    "user_id": "ada",
    "name": "USER.md",
    "member_id": "x",
    "version": "1",
    "path": "SKILL.md",
}
VOLATILE = re.compile(
    r'"(?:\w*_ms|\w*_s|request_id|instance|uptime\w*|generation|free_bytes|size_bytes|pid)"\s*:\s*[^,}\]]*,?'
)
BODIES: Mapping[str, Any] = {
    "runs.submit": lambda _: {"content": "hello"},
    "sessions.input": lambda _: {"content": "hello"},
    "tasks.create": lambda _: {"title": "X"},
    "tasks.update": lambda _: {"status": "completed"},
    "mailboxes.post": lambda ids: {"session_id": ids.get("session_id"), "content": "x"},
    "schedules.create": lambda ids: {
        "name": "s",
        "target_session_id": ids.get("session_id"),
        "cadence": {"type": "interval", "every_seconds": 3600},
        "request": {"content": "hello"},
    },
    "learning_candidates.create": lambda ids: {
        "scope": {"kind": "session", "id": ids.get("session_id")},
        "kind": "fact",
        "content": "The sky is up.",
    },
    "learnings.create": lambda ids: {
        "scope": {"kind": "session", "id": ids.get("session_id")},
        "kind": "fact",
        "content": "The sky is high.",
    },
    "learning_candidates.bulk": lambda ids: {
        "action": "reject",
        "candidate_ids": [ids.get("candidate_id")],
        "reason": "no",
    },
    **dict.fromkeys(
        (
            "learnings.revoke",
            "learning_candidates.reject",
            "learning_candidates.reopen",
            "rollouts.hold",
            "runs.cancel",
            "sessions.end",
        ),
        lambda _: {"reason": "no"},
    ),
    "learning_candidates.snooze": lambda _: {"until_ms": 4_102_444_800_000},
    "learnings.change": lambda _: {"content": "x"},
    "learnings.supersede": lambda _: {"content": "The town is new."},
    "projects.add_member": lambda ids: {"kind": "session", "member_id": ids.get("session_id")},
    "approvals.resolve": lambda ids: {
        "request_id": ids.get("request_id"),
        "decision": "allow_once",
    },
    "approvals.resolve_in_session": lambda ids: {
        "request_id": ids.get("request_id"),
        "decision": "allow_once",
    },
    "questions.resolve": lambda ids: {"request_id": ids.get("request_id"), "answers": {}},
    "sessions.set_reply_targets": lambda _: {"reply_targets": []},
    "sessions.set_capability_scope": lambda _: {"capability_scope": {}},
    "sessions.set_permissions": lambda _: {"permissions": {}},
    "learnings.revoke_matching": lambda ids: {
        "scope": {"kind": "session", "id": ids.get("session_id")},
        "reason": "no",
    },
}


@pytest.mark.parametrize("name", sorted(OPERATIONS))
def test_what_is_somebody_elses_answers_like_what_is_not_there(
    name: str, ada: Mapping[str, str], bob: Person, after: object
) -> None:
    there = told(bob, name, ada)
    nowhere = {field: absent(value) for field, value in ada.items()}
    missing = told(bob, name, nowhere)
    for field, value in ada.items():
        there = (there[0], there[1].replace(value, nowhere[field]))
    assert MARK not in there[1]
    if name not in EXEMPT:
        assert there == missing


@pytest.mark.parametrize("name", sorted(LISTS))
def test_lists_and_counts_are_as_if_nobody_else_had_anything(
    name: str, ada: Mapping[str, str], before: Mapping[str, Any], after: Mapping[str, Any]
) -> None:
    assert not [each for each in (*ada.values(), MARK) if each in after[name][1]]
    assert after[name] == before[name]


def test_the_owner_and_an_admin_see_everything(client: TestClient, ada: Mapping[str, str]) -> None:
    for caller in (person(client, "ada"), Person(client, {"Authorization": f"Bearer {ADMIN}"})):
        assert caller.ok("GET", f"/v1/runs/{ada['run_id']}")["run_id"] == ada["run_id"]
        assert MARK in json.dumps(caller.ok("GET", "/v1/sessions"))
        assert caller.ok("GET", f"/v1/learnings/{ada['learning_id']}")["content"]
        assert caller.ok("GET", f"/v1/assets/{ada['asset_id']}")
        assert caller.ok("GET", "/v1/runs/counts")


@pytest.mark.usefixtures("after")
def test_a_file_that_two_users_upload_is_each_ones_own(
    client: TestClient, ada: Mapping[str, str], bob: Person
) -> None:
    mine = bob.ok("POST", "/v1/assets", {"file_name": "b.txt", "content_base64": "emFuemliYXI="})

    assert (mine["owner_id"], mine["file_name"]) == ("bob", "b.txt")
    assert MARK not in json.dumps(bob.ok("GET", "/v1/assets"))
    bob.ok("DELETE", f"/v1/assets/{mine['asset_id']}")

    assert bob.call("GET", f"/v1/assets/{mine['asset_id']}").status_code == 404
    assert person(client, "ada").ok("GET", f"/v1/assets/{ada['asset_id']}")


def test_streams_tell_of_nobody_elses_sessions(daemon: Daemon, ada: Mapping[str, str]) -> None:
    """Every stream, also those of the WebSocket and of pages, reads the journal with its
    caller's visibility."""
    read = all_events(daemon.services)
    for user_id, told_of in (("bob", False), ("ada", True)):
        caller = Principal(user_id=user_id, role=Role.OPERATOR)
        reset = current_visibility.set(visibility_of(caller, "per_user"))
        try:
            sessions = {event.session_id for event in read(FeedPlace())}
        finally:
            current_visibility.reset(reset)
        assert (ada["session_id"] in sessions) is told_of


def test_a_shared_record_does_not_name_the_run_that_it_came_from(
    client: TestClient, ada: Mapping[str, str]
) -> None:
    said = {
        "scope": {"kind": "workspace", "id": "default"},
        "kind": "fact",
        "content": "The office is in Hue.",
        "source": {"run_id": ada["run_id"], "session_id": ada["session_id"]},
    }
    by_ada = person(client, "ada")
    candidate = by_ada.ok("POST", "/v1/learning-candidates", said)["candidate_id"]
    published = by_ada.ok("POST", f"/v1/learning-candidates/{candidate}/publish", {})

    seen = person(client, "cleo", "viewer").ok("GET", f"/v1/learnings/{published['learning_id']}")

    assert seen["content"] == said["content"]
    assert seen["source"] == {"run_id": "hidden", "session_id": "hidden"}
    assert seen["source_candidate_id"] == "hidden"


@pytest.mark.usefixtures("after")
def test_a_repeated_request_is_answered_with_the_same_visibility(
    ada: Mapping[str, str], bob: Person
) -> None:
    path, key = f"/v1/sessions/{ada['session_id']}/end", {"Idempotency-Key": "once"}
    for _ in range(2):
        assert bob.refused("POST", path, {}, headers=key) == (404, "session_not_found")
    made = bob.ok("POST", "/v1/sessions", {}, headers=key)
    assert bob.ok("POST", "/v1/sessions", {}, headers=key)["session_id"] == made["session_id"]


@pytest.mark.usefixtures("after")
def test_nobody_teaches_a_session_that_is_not_theirs(ada: Mapping[str, str], bob: Person) -> None:
    said = {"kind": "fact", "content": "The sun is cold.", "source": {"run_id": ada["run_id"]}}
    for scope in (
        {"kind": "workspace", "id": "default"},
        {"kind": "session", "id": ada["session_id"]},
    ):
        refused = bob.refused("POST", "/v1/learning-candidates", {**said, "scope": scope})
        assert refused[0] == 404
