"""Run memory on the real daemon: restarts, kills, broken files, and a store that fails."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import routes_to
from tests.support.daemon import DaemonProcess, capture_off, wait_for
from understudy.testing.answers import SeenRequest
from understudy.testing.fake_model import FakeModel

pytestmark = pytest.mark.e2e


@pytest.fixture
def daemon(tmp_path: Path, model: FakeModel) -> Iterator[DaemonProcess]:
    """A daemon on files, which is where records can be torn."""
    with DaemonProcess(tmp_path / "home", config=routes_to(model)) as started:
        capture_off(started)
        started.post("/v1/sessions", {"session_id": "s1"})
        yield started


def file_of(daemon: DaemonProcess, run_id: str) -> Path:
    return daemon.home / "run-memories" / "__safe" / f"id-{run_id.encode().hex()}.json"


def memory_status(daemon: DaemonProcess) -> dict[str, Any]:
    status: dict[str, Any] = daemon.get("/v1/status")["run_memory"]
    return status


def health_codes(daemon: DaemonProcess) -> dict[str, str]:
    warnings = daemon.get("/v1/status")["health"]["warnings"]
    return {warning["code"]: warning["severity"] for warning in warnings}


def recovered(request: SeenRequest) -> str:
    """The section of the system text that holds what earlier runs did; empty when there is none."""
    system = "\n".join(turn.text for turn in request.turns if turn.role == "system")
    return system.partition("## recovered_memory")[2]


def test_memory_outlives_a_restart_and_a_kill(daemon: DaemonProcess, model: FakeModel) -> None:
    first = daemon.run("s1", "inspect the harbour crane")["run_id"]
    stored = json.loads(file_of(daemon, first).read_text())
    daemon.stop()
    daemon.start()
    daemon.kill()
    daemon.start()
    daemon.run("s1", "and the crane?")

    assert first in recovered(model.requests[-1])
    assert json.loads(file_of(daemon, first).read_text()) == stored
    assert memory_status(daemon)["maintenance"]["pruned_orphan_file_count"] == 0


def test_torn_and_swapped_files_are_left_out_and_let_go(
    daemon: DaemonProcess, model: FakeModel
) -> None:
    torn, swapped, whole = (daemon.run("s1", text)["run_id"] for text in ("one", "two", "three"))
    file_of(daemon, torn).write_text("{")
    shutil.copy(file_of(daemon, whole), file_of(daemon, swapped))
    last = daemon.run("s1", "four")

    assert last["status"] == "completed"
    section = recovered(model.requests[-1])
    assert whole in section
    assert torn not in section
    assert swapped not in section
    assert not file_of(daemon, torn).exists()
    assert not file_of(daemon, swapped).exists()
    assert memory_status(daemon)["indexed_record_count"] == 2
    assert memory_status(daemon)["metrics"]["skipped_unreadable_total"] == 2
    assert "run_memory_unreadable_records" in health_codes(daemon)
    daemon.stop()
    daemon.start()
    maintenance = memory_status(daemon)["maintenance"]
    assert maintenance["index_rebuilt"] is True
    assert maintenance["pruned_orphan_file_count"] == 0
    assert "run_memory_unreadable_records" not in health_codes(daemon)


def test_a_store_that_fails_stops_no_run_and_is_made_up_for(
    daemon: DaemonProcess, model: FakeModel
) -> None:
    kept = daemon.run("s1", "before")["run_id"]
    safe = daemon.home / "run-memories" / "__safe"
    safe.rename(safe.with_name("aside"))
    safe.write_text("not a directory")
    lost = daemon.run("s1", "meanwhile")
    assert lost["status"] == "completed"
    assert not safe.is_dir()
    assert health_codes(daemon)["run_memory_records_postponed"] == "warning"
    refused = daemon.request(
        "POST", "/v1/runtime/run-memory-policy", json={"policy": {"max_prompt_entries": 2}}
    )
    assert (refused.status_code, refused.json()["code"]) == (503, "run_memory_maintenance_failed")
    assert daemon.get("/v1/runtime/run-memory-policy")["policy"]["max_prompt_entries"] == 3

    daemon.stop()
    daemon.start()
    assert health_codes(daemon)["run_memory_maintenance_failed"] == "warning"
    assert daemon.run("s1", "served all the same")["status"] == "completed"

    daemon.stop()
    safe.unlink()
    safe.with_name("aside").rename(safe)
    daemon.start()
    wait_for(lambda: file_of(daemon, lost["run_id"]).exists(), 30, what="the record to be made")
    assert "run_memory_maintenance_failed" not in health_codes(daemon)
    daemon.run("s1", "what was before and meanwhile")
    section = recovered(model.requests[-1])
    assert lost["run_id"] in section
    assert kept in section


def test_doctor_tells_of_what_was_tidied_up_and_is_content(daemon: DaemonProcess) -> None:
    run = daemon.run("s1", "hello")["run_id"]
    daemon.stop()
    stray = file_of(daemon, run).with_name("not-a-safe-id.json")
    stray.write_text("{}")
    unknown = file_of(daemon, "run-999")
    unknown.write_text("{}")
    legacy = daemon.home / "run-memories" / f"{run}.json"
    shutil.copy(file_of(daemon, run), legacy)
    daemon.start()

    assert file_of(daemon, run).exists()
    assert not any(path.exists() for path in (stray, unknown, legacy))
    status = memory_status(daemon)
    assert status["maintenance"]["source"] == "startup"
    assert status["maintenance"]["pruned_orphan_file_count"] == 3
    assert status["metrics"]["pruned_orphan_total"] == 3
    assert daemon.get("/v1/status")["health"]["ok"] is True
