"""The board of a project with its graph, a playbook, and a flow that says what is missing."""

import re
from dataclasses import replace
from typing import Any

import pytest
from fastapi import FastAPI
from playwright.sync_api import Page, expect
from starlette.testclient import TestClient

from tests.console.conftest import OURS
from tests.support.browser import assert_accessible, assert_fits
from tests.support.daemon import DaemonProcess
from tests.support.playbook_factories import manifest
from understudy.console.lineage_graph import COLUMN
from understudy.console.task_graph import MOST_TASKS, graph_of_tasks

HOSTILE = "<script>alert(1)</script>"


def task(task_id: str, *blocked_by: str, status: str = "pending") -> dict[str, Any]:
    return {
        "project_task_id": task_id,
        "title": task_id,
        "status": status,
        "blocked_by": [*blocked_by],
    }


def test_a_task_stands_to_the_right_of_all_that_it_waits_for() -> None:
    graph = graph_of_tasks([task("c", "a", "b"), task("b", "a"), task("a"), task("d")], "/t")
    places = {node.label: node.x // COLUMN for node in graph.nodes}
    assert places == {"a": 0, "d": 0, "b": 1, "c": 2}
    assert len(graph.edges) == 3
    assert {node.href for node in graph.nodes} == {"/t/a", "/t/b", "/t/c", "/t/d"}
    many = [task(f"t{number}") for number in range(MOST_TASKS + 5)]
    assert len(graph_of_tasks(many, "/t").nodes) == MOST_TASKS


def garden(console: TestClient) -> None:
    console.post("/v1/sessions", json={"session_id": "s1"})
    body = {"project_id": "garden", "display_name": HOSTILE, "members": [{"member_id": "s1"}]}
    assert console.post("/v1/projects", json=body).status_code == 201


def add(console: TestClient, task_id: str, *after: str, **more: Any) -> None:
    body = {"project_task_id": task_id, "title": f"Do {task_id}", "blocked_by": [*after], **more}
    assert console.post("/v1/projects/garden/tasks", json=body).status_code == 201


def test_a_project_shows_its_channels_and_what_they_are_for(console: TestClient) -> None:
    garden(console)
    assert console.post("/v1/channels", json={"channel_id": "room", "title": "R"}).is_success
    link = {"channel_id": "room", "role": HOSTILE, "metadata": {"topic": HOSTILE, "lead": "ada"}}
    assert console.post("/v1/projects/garden/channels", json=link).is_success
    page = console.get("/projects/garden").text
    assert HOSTILE not in page
    assert '<a href="/channels/room">room</a> <span class="chip">new tasks</span>' in page
    assert "ada" in page


def test_the_board_shows_who_waits_for_what(console: TestClient) -> None:
    garden(console)
    assert "No tasks yet" in console.get("/projects/garden").text
    add(console, "dig", assignment={"assignee_member_id": "s1"})
    add(console, "plant", "dig", description=HOSTILE)
    page = console.get("/projects/garden").text
    assert HOSTILE not in page
    assert "Waits for dig" in page
    assert page.count('action="/act/project_tasks.start"') == 1
    assert "/projects/garden/tasks/plant" in page
    one = console.get("/projects/garden/tasks/plant").text
    assert HOSTILE not in one
    assert "Waits for dig" in one
    assert console.get("/projects/garden/tasks/nothing").status_code == 404


def test_a_task_that_a_run_wrote_says_so_before_its_start(console: TestClient) -> None:
    garden(console)
    add(console, "dig", assignment={"assignee_member_id": "s1"})
    app = console.app
    assert isinstance(app, FastAPI)
    with app.state.services.resources.units.write() as unit:
        task = unit.project_tasks.get("garden", "dig")
        read = replace(task, created_by_run_id="run_1", untrusted_sources=("tool_result",))
        unit.project_tasks.update(replace(read, version=2), expected_version=1)
    page = console.get("/projects/garden/tasks/dig").text
    warned, start = page.index("the result of a tool"), page.index("project_tasks.start")
    assert page.index("/runs/run_1") < start
    assert warned < start


@pytest.mark.parametrize("language", ["vi", "zh"])
def test_names_of_fields_are_translated_down_to_single_records(
    console: TestClient, language: str
) -> None:
    garden(console)
    add(console, "dig", assignment={"assignee_member_id": "s1"})
    body = {
        "name": "Numbers",
        "target_session_id": "s1",
        "cadence": {"type": "cron", "expression": "0 9 * * 1", "timezone": "UTC"},
        "request": {"input_items": [{"type": "text", "text": "Go on"}]},
    }
    schedule = console.post("/v1/schedules", json=body).json()["schedule_id"]
    headers = {"Accept-Language": language}
    for path in ("/projects/garden/tasks/dig", f"/schedules/{schedule}", "/projects", "/schedules"):
        page = console.get(path, headers=headers).text
        names = re.findall(r"<(?:dt|th scope=\"col\")>([^<]+)</", page)
        assert names, path
        # What is written with capitals is a proper name in every language.
        assert not [name for name in names if re.fullmatch(r"[a-z ]{5,}", name)], path


def test_a_task_is_added_and_changed_with_forms(console: TestClient) -> None:
    garden(console)
    form = {
        "project_id": "garden",
        "title": "Dig",
        "assignment.assignee_member_id": "s1",
        "_to": "/projects/garden",
    }
    done = console.post("/act/project_tasks.create", data=form, headers=OURS)
    assert done.headers["location"] == "/projects/garden"
    [made] = console.get("/v1/projects/garden/tasks").json()["items"]
    assert (made["title"], made["assignee_member_id"]) == ("Dig", "s1")
    change = {
        "project_id": "garden",
        "project_task_id": made["project_task_id"],
        "expected_version": "1",
        "status": "completed",
        "_to": "/projects",
    }
    assert console.post("/act/project_tasks.update", data=change, headers=OURS).status_code == 303
    path = f"/v1/projects/garden/tasks/{made['project_task_id']}"
    assert console.get(path).json()["status"] == "completed"


def test_a_playbook_is_published_with_evidence(console: TestClient) -> None:
    made = console.post("/v1/playbooks", json={"manifest": manifest(description=HOSTILE)})
    if made.status_code == 400:  # the guard may refuse it as well
        made = console.post("/v1/playbooks", json={"manifest": manifest()})
    page = console.get("/playbooks/release").text
    assert HOSTILE not in page
    assert "manual:review" in page
    form = {
        "playbook_id": "release",
        "version": "1",
        "digest": made.json()["selected_version"]["digest"],
        "status": "active",
        "evidence_refs.0.kind": "manual",
        "evidence_refs.0.id": "dry-run",
        "_to": "/playbooks/release",
    }
    done = console.post("/act/playbooks.publish", data=form, headers=OURS)
    assert done.headers["location"] == "/playbooks/release"
    assert console.get("/v1/playbooks/release").json()["active_version"] == "1"


@pytest.fixture(scope="module")
def flow(live: DaemonProcess) -> str:
    """A flow that lacks its review."""
    live.post("/v1/sessions", {"session_id": "s1"})
    made = live.post("/v1/playbooks", {"manifest": manifest()})["selected_version"]
    ref = {"version": "1", "digest": made["digest"]}
    evidence = [{"kind": "manual", "id": "dry-run"}]
    live.post("/v1/playbooks/release/publish", {**ref, "evidence_refs": evidence})
    body = {
        "playbook_ref": {"playbook_id": "release", **ref},
        "session_id": "s1",
        "request": {"content": "go"},
    }
    started = live.post("/v1/flows", body)
    live.wait_for_run(started["run_id"])
    members = [{"member_id": "s1"}]
    live.post("/v1/projects", {"project_id": "p", "display_name": "P", "members": members})
    for number in range(3):
        after = [f"t{number - 1}"] if number else []
        task = {"project_task_id": f"t{number}", "title": f"Task {number}", "blocked_by": after}
        live.post("/v1/projects/p/tasks", task)
    return str(started["flow_id"])


def test_a_flow_says_what_is_missing_until_somebody_attests_it(tab: Page, flow: str) -> None:
    tab.goto(f"/flows/{flow}")
    missing = tab.get_by_role("region", name="Missing evidence")
    expect(missing).to_contain_text("manual:review")
    assert_accessible(tab)
    assert_fits(tab)
    missing.get_by_role("button", name="Attest").click()
    expect(tab.get_by_role("region", name="Missing evidence")).to_have_count(0)
    expect(tab.locator(".head")).to_contain_text("succeeded")
    for path in ("/projects/p", "/projects/p/tasks/t1", "/playbooks/release", "/flows"):
        tab.goto(path)
        assert_accessible(tab)
        assert_fits(tab)
