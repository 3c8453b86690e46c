"""Daemons of different roles on one PostgreSQL: who works, who answers, and what a death costs."""

from pathlib import Path

import pytest

from tests.e2e.conftest import routes_to
from tests.support.daemon import PATIENCE_S, DaemonProcess, wait_for
from tests.support.planned_runs import all_ended, check_journal, journal_of, plan_for
from tests.support.postgres import MakeDatabase
from tests.support.postgres_server import free_port
from understudy.testing.answers import call
from understudy.testing.fake_model import FakeModel

pytestmark = [pytest.mark.e2e, pytest.mark.postgres]

WRITE = {"path": "note.txt", "content": "hello"}


def serve(home: Path, url: str, model: FakeModel, role: str) -> DaemonProcess:
    """A daemon of a role; one that must not work has a way to no model."""
    config = routes_to(model)
    if role == "api":
        config = config.replace(model.url, f"http://127.0.0.1:{free_port()}/v1")
    return DaemonProcess(home, url, {"UNDERSTUDY_ROLE": role}, config)


def test_what_an_api_daemon_accepts_outlives_its_worker(
    tmp_path: Path, model: FakeModel, make_database: MakeDatabase
) -> None:
    url = make_database()
    sessions = [f"s{number}" for number in range(4)]
    with (
        serve(tmp_path / "api", url, model, "api") as api,
        serve(tmp_path / "one", url, model, "worker") as one,
    ):
        for session in sessions:
            api.post("/v1/sessions", {"session_id": session})
        model.hold()
        labels = {}
        for number in range(2):
            for session in sessions:
                label = f"{session}-r{number}"
                labels[api.submit(session, plan_for(label))] = label
        model.wait_for_requests(4, timeout_s=PATIENCE_S)
        with serve(tmp_path / "two", url, model, "worker") as two:
            one.kill()
            model.release()
            runs = wait_for(lambda: all_ended(api, len(labels)), 90, what="all runs to end")
            journals = {session: journal_of(api, session) for session in sessions}

            paths = ("/healthz", "/readyz", "/metrics", "/v1/sessions", "/", "/openapi.json")
            answers = [two.request("GET", path).status_code for path in paths]
            assert answers == [200, 200, 200, 404, 404, 404]
            assert two.request("POST", "/v1/sessions", json={}).status_code == 404
    assert {run["status"] for run in runs.values()} == {"completed"}
    for session, events in journals.items():
        check_journal(events, [run for run in labels if labels[run].startswith(session)])


def test_an_api_daemon_that_dies_loses_nothing(
    tmp_path: Path, model: FakeModel, make_database: MakeDatabase
) -> None:
    url = make_database()
    with serve(tmp_path / "api", url, model, "api") as api:
        labels = {}
        for number in range(8):
            api.post("/v1/sessions", {"session_id": f"s{number}"})
            labels[api.submit(f"s{number}", plan_for(f"s{number}-r0"))] = number
        api.kill()
        # Nobody has worked so far.
        assert model.requests == []
        with serve(tmp_path / "one", url, model, "worker"):
            api.start()
            runs = wait_for(lambda: all_ended(api, len(labels)), 90, what="all runs to end")
            assert {run["status"] for run in runs.values()} == {"completed"}

            # What a person allows here goes on there.
            rule = {"tool": "write_file", "decision": "ask"}
            api.post("/v1/sessions", {"session_id": "asks"})
            api.request("PUT", "/v1/sessions/asks/permissions", json={"rules": [rule]})
            model.queue(call("write_file", WRITE), "Written.")
            run_id = api.submit("asks", "write")
            ids = lambda: api.get(f"/v1/runs/{run_id}")["pending_approval_ids"]  # noqa: E731
            [approval] = wait_for(ids, what="the approval")
            allowed = {"resolutions": [{"request_id": approval, "behavior": "allow"}]}
            api.post(f"/v1/runs/{run_id}/approvals", allowed)
            assert api.wait_for_run(run_id)["status"] == "completed"
