"""Approvals and questions over HTTP: the same run goes on, whatever happens to the daemon."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import DaemonWithModel, routes_to
from tests.support.daemon import DaemonProcess, wait_for
from tests.support.forked_process import ForkServer
from understudy.testing.answers import call
from understudy.testing.fake_model import FakeModel

pytestmark = pytest.mark.e2e

ROOT = Path(__file__).parents[2]
WRITE = {"path": "note.txt", "content": "hello\n"}
ASK = {
    "questions": [
        {
            "id": "q1",
            "header": "Colour",
            "question": "Which one?",
            "options": [{"id": "o1", "label": "red"}, {"id": "o2", "label": "blue"}],
        }
    ]
}
ASK_FIRST = {"rules": [{"tool": "write_file", "decision": "ask", "reason": "we look first"}]}


def guard(daemon: DaemonProcess) -> None:
    """A session s1 in which writing needs approval."""
    daemon.post("/v1/sessions", {"session_id": "s1"})
    set_ = daemon.request("PUT", "/v1/sessions/s1/permissions", json=ASK_FIRST)
    assert set_.status_code == 200, set_.text


def waiting(daemon: DaemonProcess, run_id: str, status: str) -> dict[str, Any]:
    """The run, once it waits."""

    def reached() -> dict[str, Any] | None:
        view: dict[str, Any] = daemon.get(f"/v1/runs/{run_id}")
        return view if view["status"] == status else None

    return wait_for(reached, what=f"{run_id} to be {status}")


def held(live: DaemonWithModel) -> dict[str, Any]:
    """A run that waits until somebody lets it write."""
    guard(live.daemon)
    live.model.queue(call("write_file", WRITE))
    return waiting(live.daemon, live.daemon.submit("s1", "write"), "waiting_for_approval")


def allow(run: dict[str, Any]) -> dict[str, Any]:
    ids = run["pending_approval_ids"]
    return {"resolutions": [{"request_id": each, "behavior": "allow"} for each in ids]}


def test_an_approval_resumes_the_same_run_across_a_restart(live: DaemonWithModel) -> None:
    daemon, model = live.daemon, live.model
    run = held(live)
    [approval] = run["pending_approvals"]
    assert (approval["tool_name"], approval["input"]) == ("write_file", WRITE)
    assert approval["scope"] == "session"
    assert "we look first" in approval["reason"]
    assert daemon.get("/v1/approvals")["items"] == [approval]

    daemon.stop()
    daemon.start()
    again = daemon.get(f"/v1/runs/{run['run_id']}")
    assert (again["status"], again["pending_approvals"]) == ("waiting_for_approval", [approval])
    address = f"/v1/runs/{run['run_id']}/approvals"
    empty = daemon.request("POST", address, json={"resolutions": []})
    assert (empty.status_code, empty.json()["code"]) == (400, "approval_batch_empty")
    both = [*allow(run)["resolutions"], {"request_id": "apr_other", "behavior": "allow"}]
    unknown = daemon.request("POST", address, json={"resolutions": both})
    assert (unknown.status_code, unknown.json()["code"]) == (400, "approval_request_not_pending")
    assert daemon.get(f"/v1/runs/{run['run_id']}")["pending_approvals"] == [approval]

    key = {"Idempotency-Key": "once"}
    answer = daemon.request("POST", address, json=allow(run), headers=key)
    assert (answer.status_code, answer.json()["run_id"]) == (202, run["run_id"])
    done = daemon.wait_for_run(run["run_id"])
    assert done["status"] == "completed"
    repeat = daemon.request("POST", address, json=allow(run), headers=key)
    assert (repeat.status_code, repeat.json()["run_id"]) == (202, run["run_id"])
    late = daemon.request("POST", address, json=allow(run))
    assert (late.status_code, late.json()["code"]) == (409, "approval_state_conflict")
    assert len(model.requests) == 2
    assert (daemon.home / "workspace" / "note.txt").read_text() == "hello\n"
    events = [item["event"] for item in daemon.get(f"/v1/runs/{run['run_id']}/events")["items"]]
    types = [event["type"] for event in events]
    assert types[3:5] == ["waiting_for_approval", "approval_resolved"]
    assert types[-1] == "completed"


def test_an_answer_resumes_the_same_run(live: DaemonWithModel) -> None:
    daemon, model = live.daemon, live.model
    daemon.post("/v1/sessions", {"session_id": "s1"})
    model.queue(call("ask_user", ASK))
    run = waiting(daemon, daemon.submit("s1", "paint"), "waiting_for_user_question")
    [question] = daemon.get("/v1/questions", params={"session_id": "s1"})["items"]
    assert run["pending_questions"] == [question]
    assert daemon.get("/v1/sessions/s1/questions")["items"] == [question]

    def answer(**fields: Any) -> tuple[int, Any]:
        resolution = {"request_id": question["id"], **fields}
        given = daemon.request(
            "POST", f"/v1/runs/{run['run_id']}/questions", json={"resolution": resolution}
        )
        return given.status_code, given.json().get("code") or given.json()["run_id"]

    def choose(*options: str) -> dict[str, Any]:
        return {"answers": [{"question_id": "q1", "selected_option_ids": list(options)}]}

    assert answer(**choose("o9")) == (400, "question_option_not_found")
    assert answer(**choose("o1", "o2")) == (400, "question_single_select_violation")
    assert answer(declined=True, **choose("o1")) == (400, "question_declined_with_answers")
    assert daemon.get(f"/v1/runs/{run['run_id']}")["status"] == "waiting_for_user_question"
    daemon.kill()
    daemon.start()
    assert answer(**choose("o1")) == (202, run["run_id"])
    assert daemon.wait_for_run(run["run_id"])["status"] == "completed"
    assert answer(**choose("o1")) == (409, "question_state_conflict")
    events = [item["event"] for item in daemon.get(f"/v1/runs/{run['run_id']}/events")["items"]]
    [resumed] = [event for event in events if event["type"] == "resumed"]
    assert resumed["resume_kind"] == "user_question_resume"
    [resolved] = [event for event in events if event["type"] == "user_question_resolved"]
    assert resolved["resolution"]["answers"][0]["selected_option_ids"] == ["o1"]


def test_the_next_run_of_a_session_waits_for_one_that_waits(live: DaemonWithModel) -> None:
    daemon = live.daemon
    first = held(live)
    second, third = daemon.submit("s1", "two"), daemon.submit("s1", "three")
    daemon.kill()
    daemon.start()
    views = [daemon.get(f"/v1/runs/{each}") for each in (second, third)]
    assert [(view["status"], view["queued_position"]) for view in views] == [
        ("queued", 1),
        ("queued", 2),
    ]
    daemon.post(f"/v1/runs/{first['run_id']}/approvals", allow(first))

    ended = [daemon.wait_for_run(each) for each in (first["run_id"], second, third)]

    assert [view["status"] for view in ended] == ["completed"] * 3
    assert ended[0]["finished_at_ms"] <= ended[1]["started_at_ms"]
    assert ended[1]["finished_at_ms"] <= ended[2]["started_at_ms"]


def test_an_answer_that_was_given_just_before_a_kill_is_not_lost(live: DaemonWithModel) -> None:
    daemon, model = live.daemon, live.model
    run = held(live)
    model.hold()
    daemon.post(f"/v1/runs/{run['run_id']}/approvals", allow(run))
    daemon.kill()
    model.release()
    daemon.start()

    assert daemon.wait_for_run(run["run_id"])["status"] == "completed"
    assert (daemon.home / "workspace" / "note.txt").read_text() == "hello\n"


@pytest.mark.parametrize("end", [DaemonProcess.stop, DaemonProcess.kill], ids=["stop", "kill"])
def test_a_run_waits_through_three_restarts_and_an_upgrade_of_the_code(
    tmp_path: Path,
    model: FakeModel,
    database_url: str,
    older_program: ForkServer,
    end: Callable[[DaemonProcess], object],
) -> None:
    url = None if database_url.startswith("sqlite") else database_url
    home = tmp_path / "home"
    config = routes_to(model)
    old = DaemonProcess(home, database_url=url, config=config, fresh=True, server=older_program)
    with old:
        assert old.get("/v1/status")["version"] == "0.0.1"
        run = held(DaemonWithModel(old, model))
        for _ in range(2):
            end(old)
            old.start()
        end(old)
    with DaemonProcess(home, database_url=url) as daemon:
        assert daemon.get("/v1/status")["version"] != "0.0.1"
        still = daemon.get(f"/v1/runs/{run['run_id']}")
        assert still["pending_approvals"] == run["pending_approvals"]
        daemon.post(f"/v1/runs/{run['run_id']}/approvals", allow(still))

        assert daemon.wait_for_run(run["run_id"])["status"] == "completed"
        assert len(model.requests) == 2
        assert (home / "workspace" / "note.txt").read_text() == "hello\n"


@pytest.fixture(scope="module")
def older_program(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ForkServer]:
    """Forks the program as it was in another version."""
    server = ForkServer(PYTHONPATH=str(older_code(tmp_path_factory.mktemp("older"))))
    yield server
    server.end()


def older_code(folder: Path) -> Path:
    """The package as another version of itself: another number, other words, an older tool."""
    package = folder / "understudy"
    # With what Python has compiled of it, which is good for files that keep their times.
    shutil.copytree(ROOT / "src" / "understudy", package)
    (package / "__init__.py").write_text('"""An older one."""\n\n__version__ = "0.0.1"\n')
    edit(package / "agent" / "prompt.py", "Do the work before", "Work before")
    edit(package / "tools" / "files.py", "The whole new content of the file.", "What to write.")
    return folder


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text, f"{path.name} no longer has {old!r}"
    path.write_text(text.replace(old, new))
