"""Erasures go on after the daemon is killed in the middle of them."""

import json
import random
import time
from pathlib import Path

import pytest

from tests.support.command_line_process import Cli
from tests.support.daemon import DaemonProcess, wait_for

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

KILLS = 4
ERASED = 24


def test_erasures_survive_kills_and_leave_nothing_in_the_home(tmp_path: Path) -> None:
    chance = random.Random(7)
    home = tmp_path / "home"
    with DaemonProcess(home) as daemon:
        made = [
            daemon.post(
                "/v1/learnings", {"kind": "fact", "content": f"Door {n} opens with Brass{n:02}Key."}
            )["learning_id"]
            for n in range(ERASED + 1)
        ]
        started = [
            daemon.post(
                "/v1/unlearn", {"target": {"kind": "learning", "id": each}, "mode": "erase"}
            )
            for each in made[:-1]
        ]
        for _ in range(KILLS):
            time.sleep(chance.uniform(0.0, 0.3))
            daemon.kill()
            daemon.start()

        def all_done() -> bool:
            items = daemon.get("/v1/unlearn?limit=100")["items"]
            return len(items) == ERASED and all(it["status"] == "done" for it in items)

        wait_for(all_done, what="all erasures to be done")
        one = daemon.get(f"/v1/unlearn/{started[0]['unlearn_id']}")
        verified = daemon.post("/v1/unlearn/verify", {"receipt": one["receipt"]})
        assert verified == {"ok": True, "found": []}
        data = b"".join(it.read_bytes() for it in sorted(home.rglob("*")) if it.is_file())
    assert [n for n in range(ERASED) if f"Brass{n:02}Key".encode() in data] == []
    assert f"Brass{ERASED:02}Key".encode() in data


def test_the_documented_commands_erase_a_run_and_write_a_receipt_that_verifies(
    tmp_path: Path,
) -> None:
    receipt = tmp_path / "gone.json"
    with DaemonProcess(tmp_path / "home") as daemon:
        cli = Cli(daemon)
        session_id = daemon.post("/v1/sessions", {})["session_id"]
        run_id = daemon.run(session_id, "The cellar door opens with BrassKey.")["run_id"]
        erase = ("unlearn", "run", run_id, "--erase", "--out", str(receipt))

        done = cli(*erase)

        assert str(receipt) in done.stderr
        assert run_id not in receipt.read_text()
        assert json.loads(receipt.read_text())["counts"]["run"] == 1
        verify = ("unlearn", "verify", str(receipt), "--text", "opens with BrassKey")
        assert cli.json(*verify) == {"ok": True, "found": []}
        # Nothing is erased where the receipt could not be written.
        other = daemon.run(session_id, "Something else.")["run_id"]
        refused = cli("unlearn", "run", other, "--erase", "--out", str(receipt), code=2)
        assert "new file" in refused.stderr
        assert daemon.get(f"/v1/runs/{other}")["run_id"] == other
