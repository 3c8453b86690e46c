"""Statements and commits of a short run, counted in the process of the daemon."""

import json
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any, Final

import sqlalchemy as sa

from bench.report import figure, heading
from tests.api.live import Live, live_daemon
from tests.support.daemon import wait_for

# Connections with this execution option are those of the benchmark itself.
UNCOUNTED: Final = {"uncounted": True}
SHORT_RUN: Final = "plan: " + json.dumps(
    {"tools": [["read_file", {"path": "note.txt"}]], "final": "ok"}
)
QUIET_S: Final = 0.3
STATEMENTS_AIM: Final = 90
COMMITS_AIM: Final = 14


@dataclass(slots=True)
class Work:
    """What all engines of this process did with their databases: ours, and the durable engine's.

    The begin of a transaction is no statement: PostgreSQL's driver sends it with the first one.
    """

    statements: list[str] = field(default_factory=list)
    commits: int = 0
    begins: int = 0

    def executed(self, connection: sa.Connection, _cursor: Any, statement: str, *_: Any) -> None:
        """Note a statement."""
        if self._counts(connection) and not statement.startswith("BEGIN"):
            self.statements.append(" ".join(statement.split()))

    def begun(self, connection: sa.Connection) -> None:
        """Note the begin of a transaction."""
        self.begins += self._counts(connection)

    def committed(self, connection: sa.Connection) -> None:
        """Note a commit."""
        self.commits += self._counts(connection)

    def _counts(self, connection: sa.Connection) -> bool:
        return not UNCOUNTED.keys() & connection.get_execution_options().keys()


@contextmanager
def counted() -> Iterator[Work]:
    """Count what is done within."""
    work = Work()
    listeners: tuple[tuple[str, Callable[..., None]], ...] = (
        ("before_cursor_execute", work.executed),
        ("begin", work.begun),
        ("commit", work.committed),
    )
    for name, act in listeners:
        sa.event.listen(sa.Engine, name, act)
    try:
        yield work
    finally:
        for name, act in listeners:
            sa.event.remove(sa.Engine, name, act)


def count_short_runs(live: Live, *, runs: int = 5) -> list[Work]:
    """What each of some short runs takes: 2 model calls and 1 tool call, from its submission to
    everything that follows its end."""
    (live.daemon.settings.workspace / "note.txt").write_text("hello\n")
    live.session("counted")
    # The first runs fill what is kept in memory.
    return [_count_one(live) for _ in range(runs + 2)][2:]


def _count_one(live: Live) -> Work:
    with counted() as work:
        _run(live)
        before = -1
        # Until the daemon has done what follows.
        while before != len(work.statements):
            before = len(work.statements)
            time.sleep(QUIET_S)
    return work


def _run(live: Live) -> None:
    run_id = live.submit("counted", SHORT_RUN)
    query = sa.text("SELECT status FROM runs WHERE run_id = :run_id")

    def has_ended() -> bool:
        with live.daemon.resources.database.connect() as connection:
            uncounted = connection.execution_options(**UNCOUNTED)
            status = uncounted.execute(query, {"run_id": run_id}).scalar_one()
        return bool(status == "completed")

    wait_for(has_ended, what=f"{run_id} to end")


def main(*, quick: bool = False) -> bool:
    """Count on SQLite."""
    heading("Statements and commits of a short run on SQLite")
    with tempfile.TemporaryDirectory() as folder, live_daemon(Path(folder)) as live:
        found = count_short_runs(live, runs=5 if quick else 20)
    # Now and then a look that is due by the clock falls into a run.
    met = [
        figure(
            "statements",
            median(len(work.statements) for work in found),
            "",
            at_most=STATEMENTS_AIM,
        ),
        figure("commits", median(work.commits for work in found), "", at_most=COMMITS_AIM),
        figure("transactions begun", median(work.begins for work in found), ""),
    ]
    return all(met)
