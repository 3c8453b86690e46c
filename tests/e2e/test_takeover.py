"""Two daemons on one PostgreSQL: when one dies, the other goes on with its work."""

import signal
import time
from pathlib import Path

import psycopg
import pytest

from tests.e2e.conftest import routes_to
from tests.support.daemon import PATIENCE_S, DaemonProcess, capture_off, wait_for
from tests.support.planned_runs import MODEL_CALLS, all_ended, check_journal, journal_of, plan_for
from tests.support.postgres import MakeDatabase
from tests.support.transaction_pooler import transaction_pooler
from understudy.testing.fake_model import FakeModel

pytestmark = [pytest.mark.e2e, pytest.mark.postgres]

TAKEOVER_MS = 5000


def test_a_killed_daemons_runs_go_on_elsewhere_within_five_seconds(
    tmp_path: Path, model: FakeModel, make_database: MakeDatabase
) -> None:
    url = make_database()
    config = routes_to(model)
    sessions = [f"s{number}" for number in range(8)]
    with DaemonProcess(tmp_path / "one", database_url=url, config=config) as first:
        for session in sessions:
            first.post("/v1/sessions", {"session_id": session})
        labels = {}
        for number in range(2):
            for session in sessions:
                label = f"{session}-r{number}"
                labels[first.submit(session, plan_for(label, delay_s=1.0))] = label
        model.wait_for_requests(8)
        # However long the second takes to start, no session is done by then.
        model.hold()
        with DaemonProcess(tmp_path / "two", database_url=url, config=config) as second:
            first.kill()
            killed_at_ms = int(time.time() * 1000)
            model.release()
            runs = wait_for(lambda: all_ended(second, len(labels)), 90, what="all runs to end")
            journals = {session: journal_of(second, session) for session in sessions}
    assert {run["status"] for run in runs.values()} == {"completed"}
    for session, events in journals.items():
        check_journal(events, [run for run in labels if labels[run].startswith(session)])
        after = [event["at_ms"] for event in events if event["at_ms"] > killed_at_ms]
        assert after[0] - killed_at_ms <= TAKEOVER_MS


def test_two_daemons_share_the_work_and_keep_the_order(
    tmp_path: Path, model: FakeModel, make_database: MakeDatabase
) -> None:
    url = make_database()
    config = routes_to(model)
    first = DaemonProcess(tmp_path / "one", database_url=url, config=config).start()
    second = DaemonProcess(tmp_path / "two", database_url=url, config=config).start()
    with first, second:
        sessions = [f"s{number}" for number in range(6)]
        for session in sessions:
            first.post("/v1/sessions", {"session_id": session})
        labels = {}
        for number in range(5):
            for index, session in enumerate(sessions):
                label = f"{session}-r{number}"
                daemon = (first, second)[(number + index) % 2]
                labels[daemon.submit(session, plan_for(label))] = label
        runs = wait_for(lambda: all_ended(first, len(labels)), 90, what="all runs to end")
        for session in sessions:
            events = journal_of(second, session)
            check_journal(events, [run for run in labels if labels[run].startswith(session)])
    assert {run["status"] for run in runs.values()} == {"completed"}


def test_behind_a_transaction_pooler_daemons_work_and_take_over(
    tmp_path: Path, model: FakeModel, make_database: MakeDatabase
) -> None:
    url = make_database()
    config, direct = routes_to(model), {"UNDERSTUDY_DATABASE_DIRECT_URL": url}
    sessions = [f"s{number}" for number in range(4)]
    with (
        transaction_pooler(url) as pooled,
        DaemonProcess(tmp_path / "one", pooled, direct, config) as first,
        DaemonProcess(tmp_path / "two", pooled, direct, config) as second,
    ):
        for session in sessions:
            first.post("/v1/sessions", {"session_id": session})
        assert first.run("s0", "hello")["status"] == "completed"
        model.hold()
        asked = len(model.requests)
        labels = {}
        for number in range(2):
            for session in sessions:
                label = f"{session}-r{number}"
                labels[first.submit(session, plan_for(label))] = label
        model.wait_for_requests(asked + 4, timeout_s=PATIENCE_S)
        first.kill()
        model.release()
        runs = wait_for(lambda: all_ended(second, len(labels) + 1), 90, what="all runs to end")
        journals = {session: journal_of(second, session) for session in sessions[1:]}
        log = second.log()
    assert {run["status"] for run in runs.values()} == {"completed"}
    for session, events in journals.items():
        check_journal(events, [run for run in labels if labels[run].startswith(session)])
    assert "background.failed" not in log
    assert "Traceback" not in log


def test_a_daemon_that_only_lost_its_heartbeat_keeps_its_runs(
    tmp_path: Path, model: FakeModel, make_database: MakeDatabase
) -> None:
    url = make_database()
    config = routes_to(model)
    with (
        DaemonProcess(tmp_path / "one", database_url=url, config=config) as first,
        DaemonProcess(tmp_path / "two", database_url=url, config=config),
    ):
        first.post("/v1/sessions", {"session_id": "s1"})
        model.hold()
        run_id = first.submit("s1", "hello")
        model.wait_for_requests(1)
        with psycopg.connect(url, autocommit=True) as connection:
            for _ in range(2):
                # Locks that stand for executors have one key of 64 bits, all others two of 32.
                connection.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory'"
                    " AND objsubid = 1 AND granted AND database ="
                    " (SELECT oid FROM pg_database WHERE datname = current_database())"
                )
                time.sleep(2.5)
        assert len(model.requests) == 1
        model.release()
        assert first.wait_for_run(run_id)["status"] == "completed"
        assert len(model.requests) == 1


def everything(url: str) -> dict[str, list[tuple[object, ...]]]:
    """The rows of the tables that runs write to."""
    tables = ("journal", "runs", "sessions", "artifacts", "deliveries", "signals", "requests")
    with psycopg.connect(url) as connection:
        return {
            table: connection.execute(f"SELECT * FROM {table} ORDER BY 1, 2").fetchall()
            for table in tables
        }


def test_a_stopped_daemon_loses_its_runs_and_writes_nothing_when_it_wakes(
    tmp_path: Path, model: FakeModel, make_database: MakeDatabase
) -> None:
    url = make_database()
    config = routes_to(model)
    sessions = [f"s{number}" for number in range(4)]
    with (
        DaemonProcess(tmp_path / "one", database_url=url, config=config) as first,
        DaemonProcess(tmp_path / "two", database_url=url, config=config) as second,
    ):
        capture_off(first)
        for session in sessions:
            first.post("/v1/sessions", {"session_id": session})
        model.hold()
        labels = {}
        for number in range(2):
            for session in sessions:
                label = f"{session}-r{number}"
                labels[first.submit(session, plan_for(label))] = label
        model.wait_for_requests(4, timeout_s=PATIENCE_S)
        first.signal(signal.SIGSTOP)
        # The other daemon asks again what the stopped one has asked.
        model.wait_for_requests(8, timeout_s=PATIENCE_S)
        model.release()
        runs = wait_for(lambda: all_ended(second, len(labels)), 90, what="all runs to end")
        before, asked = everything(url), len(model.requests)

        # The answers to what it asked have arrived meanwhile.
        first.signal(signal.SIGCONT)
        is_over = lambda: first.log().count("run.taken_over") == len(sessions)  # noqa: E731
        wait_for(is_over, what="the woken daemon to let its runs go")
        assert everything(url) == before
        assert len(model.requests) == asked
        journals = {session: journal_of(second, session) for session in sessions}
        assert first.run("s0", plan_for("s0-again"))["status"] == "completed"

    assert {run["status"] for run in runs.values()} == {"completed"}
    for session, events in journals.items():
        check_journal(events, [run for run in labels if labels[run].startswith(session)])
    # Of the first runs only the call in flight was repeated.
    assert asked == 4 + 2 * 4 * MODEL_CALLS
