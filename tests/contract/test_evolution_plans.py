"""What is told of an agent, and what a look for suggestions asks, costs no more when others do more."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import sqlalchemy as sa

from tests.contract.conftest import UnitsOnDatabase
from tests.support.factories import NOW
from understudy.core.page import PageRequest
from understudy.evolution.record import EntryKind
from understudy.storage.unit import Unit

# Each kind of entry, and the index that has those of one agent in the order of time.
INDEXES = {
    EntryKind.SOUL_VERSION: "ix_agent_files_written",
    EntryKind.PROPOSAL: "ix_file_proposals_file",
    EntryKind.NUDGE: "ix_journal_nudges",
    EntryKind.OFFER: "ix_requests_offered_by",
    EntryKind.SKILL_VERSION: "ix_skill_versions_made_by",
}
AFTER = (NOW, 7, "offer", "off_1")
# A row of each table that they stand in, by its number.
WHOSE = "CASE WHEN mod(n, 50) = 0 THEN 'default' ELSE 'agent-' || mod(n, 50) END"
WHEN = f"{NOW} - 2500 + n"
PAST: dict[str, dict[str, str]] = {
    "agent_files": {
        "agent_id": WHOSE,
        "name": "CASE WHEN mod(n, 3) = 0 THEN 'USER.md' ELSE 'SOUL.md' END",
        "version": "n",
        "content": "'{}'",
        "actor": "'user:ada'",
        "created_at_ms": WHEN,
    },
    "file_proposals": {
        "proposal_id": "'prp_' || n",
        "agent_id": WHOSE,
        "name": "'SOUL.md'",
        "state": "'approved'",
        "content": "'{}'",
        "base_version": "n",
        "actor": "'user:ada'",
        "run_id": "'run_' || n",
        "created_at_ms": WHEN,
    },
    "journal": {
        "session_id": "'s' || mod(n, 70)",
        "offset": "n",
        "kind": "CASE WHEN mod(n, 3) = 0 THEN 'run_started' ELSE 'nudge' END",
        "at_ms": WHEN,
        "data": "'{}'",
        "agent_id": WHOSE,
    },
    "requests": {
        "request_id": "'off_' || n",
        "kind": "CASE WHEN mod(n, 3) = 0 THEN 'question' ELSE 'offer' END",
        "run_id": "'run_' || n",
        "session_id": "'s' || mod(n, 70)",
        "call_key": "'call_' || n",
        "audience": "'user'",
        "state": "'answered'",
        "body": "'{}'",
        "created_at_ms": WHEN,
        "agent_id": WHOSE,
    },
    "skill_versions": {
        "skill_id": "'skl_' || mod(n, 70)",
        "number": "n",
        "digest": "'d'",
        "size": "1",
        "actor": "'user:ada'",
        "created_at_ms": WHEN,
        "agent_id": WHOSE,
    },
}
# What else is asked again and again, and the indexes that answer it.
LOOKS: dict[str, tuple[set[str], Callable[[Unit], object]]] = {
    "runs with tools": (
        {"ix_runs_agent", "ix_journal_run", "ix_skill_uses_run", "pk_sessions"},
        lambda unit: unit.suggestions.tool_runs(since_ms=NOW, per_agent=9),
    ),
    "usage of a skill": (
        {"pk_skill_listings", "pk_skill_listing_days", "ix_skill_uses_skill", "pk_runs"},
        lambda unit: unit.skill_uses.usage("skl_1", since_ms=NOW),
    ),
    "usage of all skills": (
        {"ix_skill_listing_days_day", "ix_skill_uses_newest", "pk_runs"},
        lambda unit: unit.skill_uses.usage_since(NOW),
    ),
}


@pytest.mark.parametrize("after", [None, AFTER], ids=["first page", "next page"])
@pytest.mark.parametrize("kind", [None, *EntryKind], ids=str)
def test_a_page_of_an_agent_reads_only_what_it_may_hold(
    database: UnitsOnDatabase, kind: EntryKind | None, after: tuple[Any, ...] | None
) -> None:
    kinds = tuple(EntryKind) if kind is None else (kind,)
    request = PageRequest(limit=9, after=after)

    plan = planned(database, lambda unit: unit.evolution.page("default", request, kinds=kinds))

    assert {each for each in INDEXES.values() if each in plan} == {INDEXES[each] for each in kinds}
    assert_reads_no_whole_table(plan)
    if kind is not None:
        # It comes in the order of its index; only the page itself is sorted, which may hold others.
        assert plan.count("TEMP B-TREE") + plan.count("Sort Key") <= 1


@pytest.mark.parametrize("name", LOOKS)
def test_what_is_asked_again_and_again_reads_no_whole_table(
    database: UnitsOnDatabase, name: str
) -> None:
    if database.engine.dialect.name != "sqlite":
        pytest.skip("PostgreSQL plans by what is in the table")
    indexes, look = LOOKS[name]

    plan = planned(database, look).replace("sqlite_autoindex_", "pk_")

    assert {each for each in indexes if each not in plan} == set()
    assert_reads_no_whole_table(plan)


def assert_reads_no_whole_table(plan: str) -> None:
    # What no run has been summed up of yet is little, and is read as a whole.
    plan = plan.replace("SCAN skill_listings", "")
    tables = ("agent_files", "file_proposals", "journal", "requests", "skill_", "runs", "sessions")
    scans = [f"{word} {each}" for each in tables for word in ("SCAN", "Seq Scan on")]
    assert not [each for each in scans if each in plan], plan


def planned(database: UnitsOnDatabase, look: Callable[[Unit], object]) -> str:
    """How a database answers everything that a look asks, with what it has indexes for."""
    asked: list[tuple[str, Any]] = []

    def note(_connection: Any, _cursor: Any, statement: str, values: Any, *_: Any) -> None:
        if statement.lstrip().startswith("SELECT"):
            asked.append((statement, values))

    sa.event.listen(database.engine, "before_cursor_execute", note)
    with database.units.read() as unit:
        look(unit)
    sa.event.remove(database.engine, "before_cursor_execute", note)
    with explaining(database) as explain:
        return "\n".join(explain(statement, values) for statement, values in asked)


@contextmanager
def explaining(database: UnitsOnDatabase) -> Iterator[Callable[[str, Any], str]]:
    is_sqlite = database.engine.dialect.name == "sqlite"
    word = "EXPLAIN QUERY PLAN" if is_sqlite else "EXPLAIN"
    with database.engine.connect() as connection:
        if not is_sqlite:
            crowd(connection)

        def explain(statement: str, values: Any) -> str:
            rows = connection.exec_driver_sql(f"{word} {statement}", values).all()
            return "\n".join(f"{row[-1]} " for row in rows)

        yield explain


def crowd(connection: sa.Connection) -> None:
    """Let fifty agents have a past until this is rolled back: PostgreSQL plans by what is there."""
    connection.exec_driver_sql("SET LOCAL session_replication_role = replica")  # no foreign keys
    # For a few rows a bitmap scan with a sort costs about the same as the index in its order; dead
    # rows that earlier tests left in the table would decide which one is planned.
    connection.exec_driver_sql("SET LOCAL enable_bitmapscan = off")
    for table, row in PAST.items():
        columns = ", ".join(f'"{name}"' for name in row)
        values = ", ".join(row.values())
        connection.exec_driver_sql(
            f"INSERT INTO {table} ({columns}) SELECT {values} FROM generate_series(1, 5000) AS n"
        )
        connection.exec_driver_sql(f"ANALYZE {table}")
