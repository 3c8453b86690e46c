"""A long run under `kill -9`: runs that were lost, done twice or out of order, on both databases."""

import json
import random
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import httpx2

from bench.baseline import route_config
from bench.report import figure, heading
from bench.runs import model_process
from tests.support import postgres
from tests.support.daemon import DaemonProcess

KILLS: Final = 500
SESSIONS: Final = 8
# Runs that are kept waiting, and the longest time between a start and its kill.
AHEAD: Final = 24
LONGEST_S: Final = 0.8
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
    problems: Counter[str] = field(default_factory=Counter)

    def submit(self) -> None:
        """Give it more runs, until so many wait."""
        newest = self.daemon.get("/v1/runs", params={"limit": 200})["items"]
        for _ in range(AHEAD - sum(run["status"] not in ENDED for run in newest)):
            self.submitted += 1
            self.send(f"run-{self.submitted}")

    def send(self, key: str) -> None:
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

    def kill(self) -> None:
        """Kill it in the middle of its work, and start it again."""
        with suppress(httpx2.TransportError):
            self.submit()
            time.sleep(self.chance.uniform(0, LONGEST_S))
        self.daemon.kill()
        self.kills += 1
        self.daemon.start()

    def check(self) -> None:
        """Wait for every run, and count what is wrong with them."""
        for number in range(1, self.submitted + 1):
            self.send(f"run-{number}")
        for run_id in self.accepted.values():
            run = self.daemon.wait_for_run(run_id, timeout=120)
            self.problems["lost"] += run["status"] != "completed"
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
    """Kill on SQLite, then on PostgreSQL; True if nothing was lost, doubled or out of order."""
    kills = KILLS // 10 if quick else KILLS
    with model_process() as model_url:
        met = _measure("SQLite", None, model_url, kills)
        postgres.begin_test_run()
        try:
            with postgres.databases(postgres.server_url()) as make:
                return _measure("PostgreSQL", make(), model_url, kills) and met
        finally:
            postgres.end_test_run()


def _measure(name: str, url: str | None, model_url: str, kills: int) -> bool:
    heading(f"{kills} times kill -9 on {name}, {SESSIONS} sessions")
    with _story(url, model_url) as story:
        for session in range(SESSIONS):
            story.daemon.post("/v1/sessions", {"session_id": f"s{session}"})
        while story.kills < kills:
            story.kill()
        story.check()
    figure("runs submitted", story.submitted, "")
    for each in ("lost", "doubled", "gaps"):
        figure(f"runs {each}", story.problems[each], "", at_most=0)
    return not story.problems.total()


@contextmanager
def _story(url: str | None, model_url: str) -> Iterator[Story]:
    with (
        tempfile.TemporaryDirectory() as home,
        DaemonProcess(
            Path(home) / "home", database_url=url, config=route_config(model_url)
        ) as daemon,
    ):
        yield Story(daemon, random.Random(4))


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
