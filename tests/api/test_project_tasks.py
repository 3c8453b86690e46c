"""Project tasks over HTTP: who may do what, what is wrong with a request, one run per start."""

from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.api.commands import invoke
from tests.api.conftest import ADMIN
from tests.api.live import Live
from tests.support.daemon import wait_for
from tests.support.model_scripts import play
from understudy.testing.answers import call

TASKS = "/v1/projects/garden/tasks"


def ok(api: TestClient, method: str, path: str, body: object = None, **options: Any) -> Any:
    answer = api.request(method, path, json=body, **options)
    assert answer.is_success, f"{method} {path}: {answer.status_code} {answer.text}"
    return answer.json()


@pytest.fixture
def garden(api: TestClient) -> TestClient:
    ok(api, "POST", "/v1/sessions", {"session_id": "s1"})
    members = [{"member_id": "s1"}, {"member_id": "eve", "member_kind": "human_actor"}]
    ok(
        api,
        "POST",
        "/v1/projects",
        {"project_id": "garden", "display_name": "Garden", "members": members},
    )
    return api


def test_a_task_has_a_life_over_http(garden: TestClient) -> None:
    body = {
        "project_task_id": "dig",
        "title": " Dig ",
        "assignment": {"assignee_agent_id": "default"},
    }
    made = ok(garden, "POST", TASKS, body)
    assert made == {
        "project_id": "garden",
        "project_task_id": "dig",
        "title": "Dig",
        "description": "",
        "status": "pending",
        "assignee_member_id": "s1",
        "primary_session_id": "s1",
        "blocked_by": [],
        "metadata": {},
        "untrusted_sources": [],
        "created_by": "local",
        "created_at_ms": made["created_at_ms"],
        "updated_at_ms": made["updated_at_ms"],
        "version": 1,
        "waits_for": [],
        "actions": ["start", "delete"],
    }
    assert ok(garden, "GET", f"{TASKS}/dig") == made
    project = ok(garden, "GET", "/v1/projects/garden")
    assert (project["task_count"], project["active_task_count"]) == (1, 1)
    plant = ok(garden, "POST", TASKS, {"title": "Plant", "blocked_by": ["dig"]})
    assert plant["project_task_id"].startswith("ptk_")
    assert plant["waits_for"] == ["dig"]
    wanted = {"clear_assignment": True, "expected_version": 1}
    changed = ok(garden, "PUT", f"{TASKS}/dig", wanted)
    assert (changed["version"], "assignee_member_id" in changed) == (2, False)
    ok(garden, "PUT", f"{TASKS}/{plant['project_task_id']}", {"blocked_by": []})
    assert ok(garden, "DELETE", f"{TASKS}/dig") == {"deleted": True}


REFUSED = (
    ({"title": " "}, 400, "invalid_title"),
    ({"title": "x" * 501}, 400, "invalid_title"),
    ({"title": "x", "description": "x" * 20_000}, 400, "text_too_long"),
    ({"title": "x", "blocked_by": ["nothing"]}, 404, "task_not_found"),
    (
        {"title": "x", "project_task_id": "dig", "blocked_by": ["dig"]},
        400,
        "task_depends_on_itself",
    ),
    ({"title": "x", "project_task_id": "a b"}, 400, "invalid_id"),
    ({"title": "x", "parent_task_id": "nothing"}, 404, "task_not_found"),
    ({"title": "x", "assignment": {}}, 400, "invalid_assignment"),
    ({"title": "x", "assignment": {"assignee_member_id": "eve"}}, 400, "assignee_not_a_session"),
    ({"title": "x", "assignment": {"assignee_member_id": "bob"}}, 404, "member_not_found"),
    ({"title": "x", "status": "in_progress"}, 409, "task_not_assigned"),
    ({"title": "x", "discussion_channel_id": "c"}, 400, "discussion_incomplete"),
    ({"title": "x", "latest_run_id": "run_1"}, 404, "run_not_found"),
    ({"title": "x", "status": "done"}, 400, "bad_request"),
    ({"title": "x", "owner": "me"}, 400, "bad_request"),
)


@pytest.mark.parametrize(("body", "status", "code"), REFUSED)
def test_what_is_wrong_is_named(
    garden: TestClient, body: dict[str, Any], status: int, code: str
) -> None:
    refused = garden.post(TASKS, json=body)
    assert (refused.status_code, refused.json()["code"]) == (status, code), refused.text
    assert ok(garden, "GET", TASKS)["items"] == []


def test_projects_are_found_by_what_they_are(garden: TestClient) -> None:
    ok(garden, "POST", "/v1/projects", {"project_id": "zoo", "display_name": "Café Zoo"})
    ok(garden, "PUT", "/v1/projects/zoo", {"status": "paused"})

    def ids(query: str) -> list[str]:
        return [each["project_id"] for each in ok(garden, "GET", f"/v1/projects?{query}")["items"]]

    assert ids("query=CAFÉ") == ["zoo"]
    assert ids("status=active") == ["garden"]
    assert ids("member_session_id=s1") == ["garden"]
    assert ids("member_session_id=s2") == []


def test_viewers_look_and_operators_change(guarded: TestClient) -> None:
    def person(role: str) -> dict[str, str]:
        body = {"user_id": role, "role": role}
        made = ok(guarded, "POST", "/v1/tokens", body, headers=root)
        return {"Authorization": f"Bearer {made['token']}"}

    root = {"Authorization": f"Bearer {ADMIN}"}
    viewer, operator = person("viewer"), person("operator")
    ok(
        guarded,
        "POST",
        "/v1/projects",
        {"project_id": "garden", "display_name": "G"},
        headers=operator,
    )
    body = {"title": "Dig", "project_task_id": "dig"}
    assert guarded.post(TASKS, json=body).status_code == 401
    assert guarded.post(TASKS, json=body, headers=viewer).status_code == 403
    assert guarded.post(TASKS, json=body, headers=operator).status_code == 201
    assert guarded.post(f"{TASKS}/dig/start", json={}, headers=viewer).status_code == 403
    assert guarded.get(f"{TASKS}/dig", headers=viewer).status_code == 200
    assert guarded.get(TASKS).status_code == 401


def test_a_start_answers_the_run_and_a_repeat_the_same(live: Live) -> None:
    live.session("s1")
    members = [{"member_id": "s1"}]
    live.ok("POST", "/v1/projects", {"project_id": "p", "display_name": "P", "members": members})
    tasks = "/v1/projects/p/tasks"
    body = {"project_task_id": "dig", "title": "Dig", "assignment": {"assignee_member_id": "s1"}}
    live.ok("POST", tasks, body)
    live.model.queue("dug")
    key = {"Idempotency-Key": "start-dig"}
    first = live.ok("POST", f"{tasks}/dig/start", {}, headers=key)
    assert (first["kind"], first["request"]["source_plugin"]) == ("input", "project_task")
    assert live.ok("POST", f"{tasks}/dig/start", {}, headers=key)["run_id"] == first["run_id"]
    wait_for(lambda: live.ok("GET", f"{tasks}/dig")["status"] == "completed", what="the task")
    done = live.ok("GET", f"{tasks}/dig")
    assert (done["output"], done["latest_run_id"]) == ("dug", first["run_id"])
    refused = live.client.post(f"{tasks}/dig/start", json={})
    assert (refused.status_code, refused.json()["code"]) == (409, "task_is_terminal")
    odd = live.client.post(f"{tasks}/dig/start", json={"metadata": [1]})
    assert (odd.status_code, odd.json()["code"]) == (400, "metadata_not_an_object")


def test_the_command_that_starts_a_task_says_what_its_author_had_read(live: Live) -> None:
    live.session("author")
    body = {"project_id": "yard", "display_name": "Yard", "members": [{"member_id": "author"}]}
    live.ok("POST", "/v1/projects", body)
    made = call("project_tasks", {"action": "create", "title": "Dig"})
    live.model.rule = play({"go": [call("list_files", {}), made]})
    run_id = live.submit("author", "go")
    live.finished(run_id)
    [task] = live.ok("GET", "/v1/projects/yard/tasks")["items"]
    task_id = task["project_task_id"]
    live.ok(
        "PUT",
        f"/v1/projects/yard/tasks/{task_id}",
        {"assignment": {"assignee_member_id": "author"}},
    )
    assert "tool_result" in invoke(live, "projects", "tasks", "list", "yard").stdout
    started = invoke(live, "projects", "tasks", "start", "yard", task_id)
    assert f"{run_id} wrote this task" in started.stderr
    assert "tool_result" in started.stderr
    live.finished(started.stdout.strip())
