"""A long run under `kill -9`: runs that were lost, done twice or out of order, on both databases."""

import json
import random
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import httpx2

from bench.baseline import route_config
from bench.report import figure, heading
from bench.runs import model_process
from tests.support import postgres
from tests.support.daemon import DaemonProcess, wait_for
from understudy.runs.execute import MAX_CRASHES

# Of each database. A round begins with an empty home, and says at its end what it found.
KILLS: Final = 500
KILLS_OF_A_ROUND: Final = 50
SESSIONS: Final = 8
# Runs that are kept waiting.
AHEAD: Final = 24
MAX_EVENTS: Final = 200
ENDED: Final = frozenset({"completed", "failed", "cancelled", "interrupted"})
PLAN: Final = "plan: " + json.dumps(
    {"tools": [["write_file", {"path": "note.txt", "content": "x"}]], "final": "ok"}
)


@dataclass(slots=True)
class Story:
    """A daemon that is killed again and again, and the runs that it was given."""

    daemon: DaemonProcess
    chance: random.Random
    submitted: int = 0
    # Run ids by the key of their submission.
    accepted: dict[str, str] = field(default_factory=dict)
    kills: int = 0
    # How long the last start took: the longest time until the next kill, on any machine.
    start_s: float = 1.0
    stopped: int = 0
    problems: Counter[str] = field(default_factory=Counter)

    def submit(self) -> None:
        """Give it more runs, until so many wait."""
        newest = self.daemon.get("/v1/runs", params={"limit": 200})["items"]
        for _ in range(AHEAD - sum(run["status"] not in ENDED for run in newest)):
            self.submitted += 1
            self.send(f"run-{self.submitted}")

    def send(self, key: str) -> bool:
        """Submit the run of a key; the same key never makes a second one."""
        session = f"s{int(key.removeprefix('run-')) % SESSIONS}"
        answer = self.daemon.request(
            "POST",
            f"/v1/sessions/{session}/runs",
            json={"content": PLAN},
            headers={"Idempotency-Key": key},
        )
        if answer.is_success:
            self.accepted[key] = answer.json()["run_id"]
        return answer.is_success

    def kill(self) -> None:
        """Kill it in the middle of a submission or of its work, and start it again."""
        killer = threading.Timer(self.chance.uniform(0, self.start_s), self.daemon.kill)
        killer.start()
        with suppress(httpx2.TransportError):
            self.submit()
        killer.join()
        self.kills += 1
        began = time.monotonic()
        self.daemon.start()
        self.start_s = time.monotonic() - began

    def check(self) -> None:
        """Wait for every run, and count what is wrong with them."""
        for number in range(1, self.submitted + 1):
            # A key may be held by the request that was cut off, for as long as it could last.
            wait_for(partial(self.send, f"run-{number}"), what=f"run-{number} to be accepted")
        for run_id in self.accepted.values():
            run = self.daemon.wait_for_run(run_id, timeout=120)
            # A run is stopped after so many crashes in a row without a step in between.
            is_stopped = run["status"] == "interrupted" and "crashed" in run["error"]
            self.stopped += is_stopped
            if not is_stopped and run["status"] != "completed":
                self.problems["lost"] += 1
                print(f"    {run_id}: {run['status']}, {run['error']}")
        for session in range(SESSIONS):
            self._check_session([*_events(self.daemon, f"s{session}")])

    def _check_session(self, events: list[dict[str, Any]]) -> None:
        offsets = [event["offset"] for event in events]
        self.problems["gaps"] += sum(after - before != 1 for before, after in pairwise(offsets))
        ends = Counter(
            (event["run_id"], event["kind"])
            for event in events
            if event["kind"] in {"output", "tool_result"}
            or (event["kind"] == "run" and event["data"]["status"] in ENDED)
        )
        self.problems["doubled"] += sum(count > 1 for count in ends.values())
        known = {run_id for run_id, _ in ends}
        self.problems["doubled"] += len(known - set(self.accepted.values()))


def main(*, quick: bool = False) -> bool:
    """Kill on both databases in turns; True if nothing was lost, doubled or out of order."""
    kills = KILLS // 10 if quick else KILLS
    problems: Counter[str] = Counter()
    postgres.begin_test_run()
    try:
        with model_process() as model_url, postgres.databases(postgres.server_url()) as make:
            for seed in range(kills // KILLS_OF_A_ROUND):
                problems += _measure("SQLite", None, model_url, seed)
                problems += _measure("PostgreSQL", make(), model_url, seed)
    finally:
        postgres.end_test_run()
    return not problems


def _measure(name: str, url: str | None, model_url: str, seed: int) -> Counter[str]:
    heading(f"round {seed + 1}: {KILLS_OF_A_ROUND} times kill -9 on {name}, {SESSIONS} sessions")
    with _story(url, model_url, random.Random(seed)) as story:
        for session in range(SESSIONS):
            story.daemon.post("/v1/sessions", {"session_id": f"s{session}"})
        while story.kills < KILLS_OF_A_ROUND:
            story.kill()
        story.check()
    figure("runs submitted", story.submitted, "")
    figure(f"of them stopped after {MAX_CRASHES} crashes in a row", story.stopped, "")
    for each in ("lost", "doubled", "gaps"):
        figure(f"runs {each}", story.problems[each], "", at_most=0)
    return story.problems


@contextmanager
def _story(url: str | None, model_url: str, chance: random.Random) -> Iterator[Story]:
    with (
        tempfile.TemporaryDirectory() as home,
        DaemonProcess(
            Path(home) / "home", database_url=url, config=route_config(model_url)
        ) as daemon,
    ):
        yield Story(daemon, chance)


def _events(daemon: DaemonProcess, session_id: str) -> Iterator[dict[str, Any]]:
    """Every event of a session, in order."""
    after = 0
    while True:
        page = daemon.get(
            f"/v1/sessions/{session_id}/events", params={"after": after, "limit": MAX_EVENTS}
        )
        yield from page["items"]
        if len(page["items"]) < MAX_EVENTS:
            return
        after = page["items"][-1]["offset"]
