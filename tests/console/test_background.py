"""The pages of background tasks: the list, and one with its output and a way to stop it."""

import json
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from starlette.testclient import TestClient

from tests.api.furniture import MAKERS
from tests.api.skill_users import Person
from tests.console.conftest import OURS
from tests.support.browser import assert_accessible, assert_fits
from tests.support.daemon import DaemonProcess, wait_for
from understudy.background_tasks.model import OutputPiece

HOSTILE = "<script>alert(1)</script>"


def made(console: TestClient) -> str:
    task_id = MAKERS["task_id"](Person(console, {}), {})
    app: Any = console.app
    with app.state.services.resources.units.write() as unit:
        unit.background_tasks.append(task_id, OutputPiece(start=0, text=f"{HOSTILE}\n"))
    return task_id


@pytest.mark.parametrize("language", ["en", "vi", "zh"])
def test_what_a_command_prints_is_never_markup(console: TestClient, language: str) -> None:
    task_id = made(console)
    assert "echo " in console.get("/background").text
    page = console.get(f"/background/{task_id}", headers={"Accept-Language": language}).text
    assert HOSTILE not in page
    assert "&lt;script&gt;" in page


def test_a_task_is_stopped_from_its_page(console: TestClient) -> None:
    task_id = made(console)
    here = f"/background/{task_id}"
    assert 'action="/act/background_tasks.stop"' in console.get(here).text
    form = {"task_id": task_id, "_to": here}
    done = console.post("/act/background_tasks.stop", data=form, headers=OURS)
    assert done.headers["location"] == here
    page = console.get(here).text
    assert "It is being stopped" in page
    assert 'action="/act/background_tasks.stop"' not in page
    assert console.get("/background/bgt_none").status_code == 404


def test_output_appears_while_the_command_runs(tab: Page, live: DaemonProcess) -> None:
    rules = {"rules": [{"tool": "shell", "decision": "allow"}]}
    live.request("PUT", "/v1/permissions", json=rules)
    live.post("/v1/sessions", {"session_id": "bg"})
    command = "echo one; until [ -e go ]; do sleep 0.1; done; echo two; sleep 600"
    plan = {"tools": [["shell", {"command": command, "background": True}]], "final": "started"}
    live.post("/v1/sessions/bg/runs", {"content": f"plan: {json.dumps(plan)}"})
    [task] = wait_for(
        lambda: live.get("/v1/background-tasks")["items"], 60, what="the task to start"
    )
    tab.goto(f"/background/{task['task_id']}")
    output = tab.get_by_role("region", name="output")
    expect(output).to_contain_text("one")
    assert_accessible(tab)
    assert_fits(tab)
    (live.home / "workspace" / "go").touch()
    expect(output).to_contain_text("two")
    tab.get_by_role("button", name="Stop").click()
    expect(tab.locator("#task")).to_contain_text("cancelled")
