"""The tasks of a session over HTTP, from the client and from the command line."""

import json
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.api.live import Live
from tests.api.test_resources import ok, refused
from tests.support.command_line_in_process import typed
from understudy.client import Client
from understudy.sessions.tasks import TaskStatus
from understudy.testing.answers import call
from understudy.wire.tasks import CreateTask, UpdateTask

TASKS = "/v1/sessions/s1/tasks"


@pytest.fixture
def tasks(api: TestClient) -> TestClient:
    """A client of a daemon with the session s1."""
    ok(api, "POST", "/v1/sessions", {"session_id": "s1"})
    return api


def test_a_task_shows_what_it_waits_for_and_what_may_follow(tasks: TestClient) -> None:
    first = ok(tasks, "POST", TASKS, {"title": "dig"})
    second = ok(tasks, "POST", TASKS, {"title": "plant", "depends_on": [1, first["task_id"]]})

    assert set(first) == {
        "task_id", "session_id", "number", "title", "status", "depends_on", "waits_for",
        "created_by", "version", "created_at_ms", "updated_at_ms", "actions",
    }  # fmt: skip
    assert first["task_id"].startswith("tsk_")
    assert (second["number"], second["status"]) == (2, "pending")
    assert second["depends_on"] == second["waits_for"] == [first["task_id"]]
    assert first["actions"] == ["blocked", "cancelled", "completed", "failed", "in_progress"]
    assert second["actions"] == ["blocked", "cancelled", "failed"]
    for status in ("in_progress", "completed"):
        conflict = (409, "tasks/dependencies_unfinished")
        assert refused(tasks, "PATCH", f"{TASKS}/2", {"status": status}) == conflict
    ok(tasks, "PATCH", f"{TASKS}/1", {"status": "completed"})
    assert ok(tasks, "GET", f"{TASKS}/2")["actions"] == first["actions"]
    assert ok(tasks, "GET", f"{TASKS}/2") == ok(tasks, "GET", f"{TASKS}/{second['task_id']}")


def test_a_task_is_changed_in_parts(tasks: TestClient) -> None:
    ok(tasks, "POST", TASKS, {"title": "dig", "description": "deep"})

    changed = ok(tasks, "PATCH", f"{TASKS}/1", {"status": "in_progress"})
    assert (changed["title"], changed["description"], changed["version"]) == ("dig", "deep", 2)
    # What was shown may come back with it.
    shown = {name: changed[name] for name in ("version", "created_at_ms", "actions")}
    assert "description" not in ok(tasks, "PATCH", f"{TASKS}/1", {"description": "", **shown})
    assert ok(tasks, "POST", f"{TASKS}/1/stop")["status"] == "cancelled"
    assert ok(tasks, "POST", f"{TASKS}/1/stop")["version"] == 4


def test_tasks_are_listed_in_pages_and_by_status(tasks: TestClient) -> None:
    for title in ("a", "b", "c"):
        ok(tasks, "POST", TASKS, {"title": title})
    ok(tasks, "POST", f"{TASKS}/2/stop")

    first = ok(tasks, "GET", f"{TASKS}?limit=2")
    rest = ok(tasks, "GET", f"{TASKS}?limit=2&cursor={first['next_cursor']}")
    pending = ok(tasks, "GET", f"{TASKS}?status=pending")

    assert [task["title"] for task in first["items"] + rest["items"]] == ["a", "b", "c"]
    assert [task["number"] for task in pending["items"]] == [1, 3]
    assert rest["next_cursor"] is None


def test_the_same_key_makes_one_task(tasks: TestClient) -> None:
    made = [
        tasks.post(TASKS, json={"title": "dig"}, headers={"Idempotency-Key": "k"}).json()
        for _ in range(2)
    ]

    assert made[0] == made[1]
    assert len(ok(tasks, "GET", TASKS)["items"]) == 1


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({}, "/title"),
        ({"title": ""}, "/title"),
        ({"title": 7}, "/title"),
        ({"title": "x" * 501}, "/title"),
        ({"title": "x", "description": "y" * 8001}, "/description"),
        ({"title": "x", "status": "completed"}, "/status"),
        ({"title": "x", "depends_on": [1] * 33}, "/depends_on"),
        ({"title": "x", "depends_on": ["1", "nine"]}, "/depends_on/1"),
        ({"title": "x", "depends_on": [0]}, "/depends_on/0"),
        ({"title": "x", "depends_on": [True]}, "/depends_on/0"),
        ({"title": "x", "depends_on": [1.5]}, "/depends_on/0"),
        ({"title": "x", "depends_on": [None]}, "/depends_on/0"),
        ({"title": "x", "depends_on": 1}, "/depends_on"),
        ({"title": "x", "depends_on": ["z" * 101]}, "/depends_on/0"),
        ({"title": "a\0b"}, "/title"),
    ],
)
def test_a_wrong_task_is_refused_by_its_place(
    tasks: TestClient, body: dict[str, Any], pointer: str
) -> None:
    ok(tasks, "POST", TASKS, {"title": "first"})

    answer = tasks.post(TASKS, json=body)

    assert answer.status_code == 400
    assert answer.json()["errors"][0]["pointer"] == pointer
    assert len(ok(tasks, "GET", TASKS)["items"]) == 1


def test_what_the_state_does_not_allow_is_a_conflict(tasks: TestClient) -> None:
    ok(tasks, "POST", TASKS, {"title": "dig"})
    ok(tasks, "POST", TASKS, {"title": "plant", "depends_on": [1]})

    begin = tasks.patch(f"{TASKS}/2", json={"status": "in_progress"})
    assert begin.status_code == 409
    assert begin.json()["code"] == "dependencies_unfinished"
    assert "task 1 (pending)" in begin.json()["detail"]
    assert len(begin.json()["params"]["waits_for"]) == 1
    assert refused(tasks, "PATCH", f"{TASKS}/1", {"depends_on": [2]}) == (
        400,
        "tasks/dependency_cycle",
    )
    ok(tasks, "POST", f"{TASKS}/1/stop")
    assert refused(tasks, "PATCH", f"{TASKS}/1", {"status": "pending"}) == (
        409,
        "tasks/task_state_conflict",
    )


@pytest.mark.parametrize("reference", ["9", "0", "tsk_x", "-1", "1.0", "99999999999999999999"])
def test_an_unknown_task_is_not_found(tasks: TestClient, reference: str) -> None:
    for method, path in (("GET", ""), ("PATCH", ""), ("POST", "/stop")):
        body = {"title": "x"} if method == "PATCH" else None
        assert refused(tasks, method, f"{TASKS}/{reference}{path}", body) == (
            404,
            "tasks/task_not_found",
        )


def test_tasks_of_an_unknown_session_are_not_found(api: TestClient) -> None:
    for method in ("GET", "POST"):
        body = {"title": "x"} if method == "POST" else None
        status = refused(api, method, "/v1/sessions/nowhere/tasks", body)
        assert status == (404, "sessions/session_not_found")


def test_a_viewer_looks_and_changes_nothing(guarded: TestClient) -> None:
    guarded.headers["Authorization"] = "Bearer admin-secret"
    ok(guarded, "POST", "/v1/sessions", {"session_id": "s1"})
    ok(guarded, "POST", TASKS, {"title": "dig"})
    token = ok(guarded, "POST", "/v1/tokens", {"user_id": "v", "role": "viewer"})["token"]
    guarded.headers["Authorization"] = f"Bearer {token}"

    assert len(ok(guarded, "GET", TASKS)["items"]) == 1
    for method, path, body in (
        ("POST", TASKS, {"title": "x"}),
        ("PATCH", f"{TASKS}/1", {"title": "x"}),
        ("POST", f"{TASKS}/1/stop", None),
    ):
        assert refused(guarded, method, path, body) == (403, "auth/forbidden")


def test_the_journal_and_the_audit_tell_of_tasks(tasks: TestClient) -> None:
    ok(tasks, "POST", TASKS, {"title": "dig"})
    ok(tasks, "POST", f"{TASKS}/1/stop")

    events = ok(tasks, "GET", "/v1/sessions/s1/events")["items"]
    audit = ok(tasks, "GET", "/v1/audit?resource=tasks")["items"]

    assert [event["data"]["type"] for event in events[-2:]] == ["task_created", "task_stopped"]
    assert [entry["action"] for entry in audit] == ["tasks.stop", "tasks.create"]
    assert json.dumps(events).count("dig") == 2


def test_agent_client_and_command_line_share_one_list(live: Live) -> None:
    live.session("shared")
    url = str(live.client.base_url)
    live.model.queue(call("tasks", {"action": "create", "title": "dig"}), "planned")
    run = live.run("shared", "plan it")
    with Client(url) as client:
        client.tasks.create("shared", CreateTask(title="plant", depends_on=[1]))
        client.tasks.update("shared", "1", UpdateTask(status=TaskStatus.COMPLETED))
        made = next(client.tasks.list("shared"))

    def answer(*line: str) -> Any:
        result = typed("sessions", *line, "--url", url, "--json")
        assert result.exit_code == 0, result.output
        return json.loads(result.stdout)

    assert (made.run_id, made.created_by) == (run["run_id"], "local")
    answer("add-task", "shared", "water", "--after", "2", "--description", "a lot")
    answer("update-task", "shared", "2", "--status", "in_progress")
    answer("stop-task", "shared", "3")
    assert [task["status"] for task in answer("tasks", "shared")["items"]] == [
        "completed",
        "in_progress",
        "cancelled",
    ]
    assert (
        answer("show-task", "shared", "3")["waits_for"]
        == answer("show-task", "shared", "3")["depends_on"]
    )
