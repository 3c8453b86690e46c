"""What the learning plane asks often costs no more when there is more."""

from collections.abc import Callable
from typing import Any

import pytest
import sqlalchemy as sa

from tests.contract.conftest import UnitsOnDatabase
from tests.support.factories import NOW, make_run
from tests.support.learning_factories import SESSION
from understudy.core.page import PageRequest
from understudy.learnings.model import Kind
from understudy.sessions.learning_scopes import WORKSPACE
from understudy.storage.unit import Unit

# What is asked again and again, and the index that answers it.
LOOKS: dict[str, tuple[str, Callable[[Unit], object]]] = {
    "next for review": (
        "ix_learning_candidates_queue",
        lambda unit: unit.candidates.next_for_review(after=None, now_ms=NOW),
    ),
    "queue of review": (
        "ix_learning_candidates_queue",
        lambda unit: unit.candidates.queue(PageRequest(), now_ms=NOW),
    ),
    "length of the queue": (
        "ix_learning_candidates_",
        lambda unit: unit.candidates.queue_length(now_ms=NOW),
    ),
    "open ones": (
        "ix_learning_candidates_open",
        lambda unit: unit.candidates.open_ones(after="cand_1", limit=9, now_ms=NOW),
    ),
    "newest run": ("ix_runs_session", lambda unit: unit.runs.newest_at_ms("s1")),
    "open with key": (
        "ix_learning_candidates_key",
        lambda unit: unit.candidates.proposed_with_key(WORKSPACE, Kind.FACT, "k", now_ms=NOW),
    ),
    "rejected": (
        "ix_learning_candidates_key",
        lambda unit: unit.candidates.rejected_by_people(WORKSPACE, Kind.FACT, "k"),
    ),
    "of run": ("ix_learning_candidates_run", lambda unit: unit.candidates.of_run("run_1")),
    "decided": (
        "ix_learning_candidates_decided",
        lambda unit: unit.candidates.decided_since(NOW, limit=9),
    ),
    "expired": (
        "ix_learning_candidates_expiring",
        lambda unit: unit.candidates.expired(now_ms=NOW, limit=9),
    ),
    "tallies": (
        "COVERING INDEX ix_learning_candidates_tally",
        lambda unit: unit.candidates.tallies(),
    ),
    "pending": (
        "ix_learning_candidates_state",
        lambda unit: unit.candidates.queue_pending(due_at_ms=NOW),
    ),
    "with key": (
        "ix_learnings_key",
        lambda unit: unit.learnings.with_key(WORKSPACE, Kind.FACT, "k"),
    ),
    "revoked": (
        "ix_learnings_taken_back",
        lambda unit: unit.learnings.revoked_by_people([WORKSPACE, SESSION], Kind.FACT, "k"),
    ),
    "about": (
        "ix_learnings_contradicting",
        lambda unit: unit.learnings.about(Kind.FACT, "sky", limit=9),
    ),
    "about in scopes": (
        "ix_learnings_subject",
        lambda unit: unit.learnings.about(Kind.FACT, "sky", limit=9, scopes=[WORKSPACE, SESSION]),
    ),
    "on subjects": (
        "ix_learnings_subject",
        lambda unit: unit.learnings.on_subjects([WORKSPACE, SESSION], ["sky", "sea"], limit=9),
    ),
    "replacing": (
        "ix_learnings_replacing",
        lambda unit: unit.learnings.replacing(["lrn_1", "lrn_2"]),
    ),
    "newest": ("ix_learnings_newest", lambda unit: unit.learnings.newest_in([WORKSPACE], limit=9)),
    "statuses": (
        "COVERING INDEX ix_learnings_status",
        lambda unit: unit.learnings.count_by_status(),
    ),
    "uses": (
        "ix_learning_uses_newest",
        lambda unit: unit.learning_uses.of_learning("lrn_1", PageRequest()),
    ),
    "next expiry of a request": (
        "ix_requests_due",
        lambda unit: unit.requests.next_expiry_ms(),
    ),
    "next due": ("ix_review_jobs_due", lambda unit: unit.review_queue.next_due_ms()),
}


def test_what_is_asked_often_reads_no_whole_table(empty_database: UnitsOnDatabase) -> None:
    if empty_database.engine.dialect.name != "sqlite":
        pytest.skip("PostgreSQL plans by what is in the table")

    for name, (index, look) in LOOKS.items():
        reads = read_by(empty_database, look)
        assert reads, name
        assert all(index in read for read in reads), (name, reads)


def test_whether_a_session_read_untrusted_text_is_not_looked_for_run_by_run(
    empty_database: UnitsOnDatabase,
) -> None:
    if empty_database.engine.dialect.name != "sqlite":
        pytest.skip("PostgreSQL plans by what is in the table")

    reads = read_by(empty_database, lambda unit: unit.runs.follows_tainted(make_run()))
    tables = [read for read in reads if read != "SCAN CONSTANT ROW"]
    indexes = {read.split("INDEX ")[1].split(" ")[0] for read in tables}
    assert indexes == {"ix_runs_brings_others_in"}


def read_by(database: UnitsOnDatabase, look: Callable[[Unit], object]) -> list[str]:
    """How SQLite reads the tables for a look at them."""
    asked: list[tuple[str, Any]] = []

    def note(_connection: Any, _cursor: Any, statement: str, values: Any, *_: Any) -> None:
        if "SELECT" in statement:
            asked.append((statement, values))

    sa.event.listen(database.engine, "before_cursor_execute", note)
    with database.units.write() as unit:
        look(unit)
    sa.event.remove(database.engine, "before_cursor_execute", note)
    with database.engine.connect() as connection:
        plan = [
            row
            for statement, values in asked
            for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", values)
        ]
    return [row.detail for row in plan if row.detail.startswith(("SCAN", "SEARCH"))]
