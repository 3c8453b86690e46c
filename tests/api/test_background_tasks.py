"""Background tasks over HTTP: what is shown, what is refused, who may stop one."""

from dataclasses import replace

import pytest
from starlette.testclient import TestClient

from tests.api.conftest import ADMIN
from tests.api.furniture import MAKERS
from tests.api.skill_users import Person
from tests.api.test_isolation import person
from tests.api.test_resources import ok, refused
from understudy.background_tasks.model import EndReason, OutputPiece, TaskEnd
from understudy.background_tasks.service import BackgroundTaskService
from understudy.daemon.wiring import Daemon

ALL = "/v1/background-tasks"


@pytest.fixture
def task_id(api: TestClient) -> str:
    """The id of a task that runs, as far as the records tell."""
    return MAKERS["task_id"](Person(api, {}), {})


def service_of(daemon: Daemon) -> BackgroundTaskService:
    return daemon.services.background_tasks


def test_a_task_is_shown_without_what_is_for_the_daemon_alone(
    api: TestClient, task_id: str
) -> None:
    task = ok(api, "GET", f"{ALL}/{task_id}")
    assert set(task) == {
        "task_id", "session_id", "run_id", "agent_id", "user_id", "command", "timeout_s", "status",
        "created_at_ms", "updated_at_ms", "output_chars", "output_bytes", "reply_targets",
        "untrusted_sources", "deliveries", "actions",
    }  # fmt: skip
    assert ok(api, "GET", f"{ALL}?session_id={task['session_id']}")["items"] == [task]
    assert ok(api, "GET", f"{ALL}?run_id={task['run_id']}&status=in_progress")["items"] == [task]
    assert ok(api, "GET", f"{ALL}?status=failed")["items"] == []
    assert ok(api, "GET", f"{ALL}?session_id=other")["items"] == []


def test_output_is_given_in_parts(api: TestClient, daemon: Daemon, task_id: str) -> None:
    service, output = service_of(daemon), f"{ALL}/{task_id}/output"
    with daemon.resources.units.read() as unit:
        task = unit.background_tasks.get(task_id)
    assert task is not None
    with daemon.resources.units.write() as unit:
        unit.background_tasks.append(task_id, OutputPiece(start=0, text="abcdef"))
        unit.background_tasks.update(replace(task, output_chars=6))
    assert service.end(task_id, TaskEnd(reason=EndReason.LOST), holder=task.holder)
    part = ok(api, "GET", f"{output}?offset=1&limit=2")
    assert (part["text"], part["next_offset"]) == ("bc", 3)
    assert refused(api, "GET", f"{output}?offset=-1") == (400, "api/bad_request")
    assert refused(api, "GET", f"{output}?limit=0") == (400, "api/bad_request")
    assert refused(api, "GET", f"{output}?limit=70000") == (400, "api/bad_request")
    assert refused(api, "GET", f"{output}?offset=99999999999") == (400, "api/bad_request")


def test_stopping_is_asked_for_once_and_refused_at_the_end(
    api: TestClient, daemon: Daemon, task_id: str
) -> None:
    stop = f"{ALL}/{task_id}/stop"
    assert api.post(stop).status_code == 202
    asked = ok(api, "POST", stop)
    assert (asked["stop_requested"]["by"], asked["actions"]) == ("local", [])
    with daemon.resources.units.read() as unit:
        task = unit.background_tasks.get(task_id)
    assert task is not None
    service_of(daemon).end(task_id, TaskEnd(reason=EndReason.STOPPED), holder=task.holder)
    assert refused(api, "POST", stop) == (409, "background_tasks/background_task_ended")
    assert refused(api, "POST", f"{ALL}/bgt_none/stop") == (
        404,
        "background_tasks/background_task_not_found",
    )
    assert refused(api, "GET", f"{ALL}/bgt_none/output") == (
        404,
        "background_tasks/background_task_not_found",
    )
    entries = ok(api, "GET", "/v1/audit?resource=background_tasks")["items"]
    assert {each["action"] for each in entries if each["outcome"] == "done"} == {
        "background_tasks.stop",
        "background_tasks.end",
    }


def test_a_viewer_looks_and_stops_nothing(guarded: TestClient) -> None:
    task = MAKERS["task_id"](Person(guarded, {"Authorization": f"Bearer {ADMIN}"}), {})
    vera = person(guarded, "vera", "viewer")
    assert vera.ok("GET", f"{ALL}/{task}/output")["text"] == ""
    assert vera.refused("POST", f"{ALL}/{task}/stop")[0] == 403
