"""What waiting costs: many runs that wait for approval at once, and how soon one goes on."""

import json
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2
import psutil

from bench.baseline import route_config
from bench.report import figure, heading, percentile
from tests.support.daemon import DaemonProcess, wait_for
from understudy.testing.fake_model import FakeModel

ASK_FIRST = {"rules": [{"tool": "write_file", "decision": "ask"}]}
CALL = ["write_file", {"path": "note.txt", "content": "hello"}]
WAITS = "plan: " + json.dumps({"tools": [CALL], "final": "done"})
IDLE_S = 10
RESUMES = 50


def main(*, quick: bool = False) -> None:
    """Measure an empty daemon, then one with a tenth of the runs waiting, then with all of them."""
    total = 100 if quick else 1000
    heading(f"Runs that wait for approval on SQLite, up to {total}")
    with tempfile.TemporaryDirectory() as folder, FakeModel() as fake:
        home = Path(folder) / "home"
        with (
            DaemonProcess(home, config=route_config(fake.url), by_command_line=True) as daemon,
            daemon.client(timeout=120) as client,
        ):
            _must(client.put("/v1/permissions", json=ASK_FIRST))
            empty_cpu, empty_memory = _rest(daemon, "empty", None)
            runs: list[str] = []
            for count in (total // 10, total):
                runs += _fill(client, range(len(runs), count))
                _rest(daemon, f"{count} waiting", (empty_cpu, empty_memory))
                _resume(client, fake, runs, count)
            _restart(daemon, client)


def _rest(
    daemon: DaemonProcess, what: str, empty: tuple[float, float] | None
) -> tuple[float, float]:
    process = psutil.Process(daemon.pid)
    time.sleep(2)
    before = sum(process.cpu_times()[:2])
    time.sleep(IDLE_S)
    cpu = (sum(process.cpu_times()[:2]) - before) / IDLE_S * 100
    memory = process.memory_info().rss / 2**20
    figure(f"idle CPU, {what}", cpu, "% core", at_most=empty[0] + 5 if empty else None)
    figure(f"memory, {what}", memory, "MiB", baseline=empty[1] if empty else None)
    return cpu, memory


def _fill(client: httpx2.Client, numbers: Sequence[int]) -> list[str]:
    """Start a run in a session of its own for each number, and wait until all of them wait."""

    def start(number: int) -> str:
        session = f"waits-{number}"
        _must(client.post("/v1/sessions", json={"session_id": session}))
        run = _must(client.post(f"/v1/sessions/{session}/runs", json={"content": WAITS}))
        return str(run["run_id"])

    with ThreadPoolExecutor(max_workers=8) as pool:
        runs = list(pool.map(start, numbers))
    expected = numbers[-1] + 1

    def all_wait() -> bool:
        counts = _must(client.get("/v1/status"))["runs"]
        return bool(counts["waiting_for_approval"] + counts["completed"] >= expected)

    wait_for(all_wait, timeout=600, what=f"{expected} runs to wait")
    return runs


def _resume(client: httpx2.Client, fake: FakeModel, runs: list[str], count: int) -> None:
    """Allow some calls, one by one, and see how long until the model is asked again."""
    waits = []
    for _ in range(RESUMES if count > RESUMES else count // 2):
        run_id = runs.pop()
        view = _must(client.get(f"/v1/runs/{run_id}"))
        allowed = [
            {"request_id": each, "behavior": "allow"} for each in view["pending_approval_ids"]
        ]
        asked = len(fake.requests)
        began = time.time_ns() // 1_000_000
        _must(client.post(f"/v1/runs/{run_id}/approvals", json={"resolutions": allowed}))
        fake.wait_for_requests(asked + 1)
        waits.append(float(fake.requests[-1].arrived_at_ms - began))
    name = f"allow to next provider request, {count} waiting"
    figure(f"{name}, p50", percentile(waits, 50), "ms", at_most=500)
    figure(f"{name}, p95", percentile(waits, 95), "ms")


def _restart(daemon: DaemonProcess, client: httpx2.Client) -> None:
    before = _must(client.get("/v1/status"))["runs"]["waiting_for_approval"]
    daemon.stop()
    began = time.monotonic()
    daemon.start()
    figure("start until ready, with them waiting", (time.monotonic() - began) * 1000, "ms")
    after = _must(client.get("/v1/status"))["runs"]["waiting_for_approval"]
    if after != before:
        raise SystemExit(f"{before} waited before the restart, {after} after it")


def _must(answer: httpx2.Response) -> Any:
    if answer.status_code >= 400:
        raise SystemExit(f"{answer.request.url}: {answer.status_code} {answer.text}")
    return answer.json()
