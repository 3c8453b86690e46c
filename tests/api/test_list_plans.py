"""No page of a list reads a whole table that grows with use: every list that the surface declares."""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import sqlalchemy as sa

from tests.api.furniture import furniture
from tests.api.skill_users import SkillUsers
from tests.support.factories import make_run
from understudy.api.app import openapi_document
from understudy.daemon.wiring import Daemon
from understudy.storage.schema import metadata

# What is as long as the daemon has been used. The rest is as long as people made it.
GROWING = frozenset(
    {
        "artifacts",
        "audit",
        "background_tasks",
        "channel_events",
        "channel_messages",
        "debug_requests",
        "deliveries",
        "flows",
        "journal",
        "learning_candidates",
        "learning_uses",
        "learnings",
        "messages",
        "requests",
        "rollout_evidence",
        "run_captures",
        "run_memories",
        "run_memory_scopes",
        "runs",
        "schedule_executions",
        "sessions",
        "skill_uses",
        "skill_versions",
        "skills",
        "term_entries",
    }
)
DOCUMENT: Any = openapi_document()
# What a list is narrowed by, where its declaration does not tell; a text is looked for everywhere.
VALUES = {"agent_id": "default", "session_id": "s1", "run_id": "run_1", "after": "1", "query": None}
REF = re.compile(r"#/components/schemas/(\w+)")


def _lists() -> dict[str, tuple[str, list[dict[str, Any]]]]:
    found = {}
    for path, methods in DOCUMENT["paths"].items():
        asked = [it for it in methods.get("get", {}).get("parameters", ()) if it["in"] == "query"]
        if {"cursor", "limit"} <= {each["name"] for each in asked}:
            found[methods["get"]["operationId"]] = path, asked
    return found


LISTS = _lists()


@pytest.mark.parametrize("operation", LISTS)
def test_a_page_reads_no_whole_table(furnished: SkillUsers, operation: str) -> None:
    path, asked = LISTS[operation]
    address = path.format_map(_named(furnished, path))

    for narrowed in ({}, *({each["name"]: word} for each in asked if (word := _word(each)))):
        with plans(furnished.daemon) as planned:
            answer = furnished.root.call("GET", address, params=narrowed)
        assert answer.status_code in (200, 404, 422), answer.text
        assert [plan for plan in planned() if _reads_all(plan)] == [], narrowed


def _named(users: SkillUsers, path: str) -> dict[str, str]:
    """Something that is there for each name in a path."""
    made = furniture(users.root, path, without={"run_id", "flow_id"})
    if "{run_id}" in path:
        run = make_run(users.root.ok("POST", "/v1/sessions", {})["session_id"])
        with users.daemon.resources.units.write() as unit:
            unit.runs.add(run)
        made["run_id"] = run.run_id
    return dict.fromkeys(_names(path), "none") | made


def _word(asked: dict[str, Any]) -> str | None:
    text = json.dumps(asked["schema"])
    if ref := REF.search(text):
        words: list[str] = DOCUMENT["components"]["schemas"][ref[1]].get("enum", [None])
        return words[-1]
    return "true" if '"boolean"' in text else VALUES.get(asked["name"])


def _names(path: str) -> list[str]:
    return [part.partition("}")[0] for part in path.split("{")[1:]]


def _reads_all(plan: list[str]) -> bool:
    """A scan in the order of an index or of row numbers ends with its page; any other with the table."""
    is_sorted = any("TEMP B-TREE FOR ORDER BY" in step for step in plan)
    return any(
        step.startswith("SCAN")
        and (table := step.split()[1]) in GROWING
        and "INDEX" not in step
        and (is_sorted or not _is_numbered(table))
        for step in plan
    )


def _is_numbered(table: str) -> bool:
    return any(column.autoincrement is True for column in metadata.tables[table].primary_key)


@contextmanager
def plans(daemon: Daemon) -> Iterator[Callable[[], list[list[str]]]]:
    """How SQLite answers each thing that is asked of it meanwhile."""
    engine = daemon.resources.database
    asked: list[tuple[str, Any]] = []

    def note(_connection: Any, _cursor: Any, statement: str, values: Any, *_: Any) -> None:
        if statement.lstrip().startswith(("SELECT", "WITH")):
            asked.append((statement, values))

    def read() -> list[list[str]]:
        with engine.connect() as connection:
            answers = (
                connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", values).all()
                for statement, values in asked
            )
            return [[row.detail for row in rows] for rows in answers]

    sa.event.listen(engine, "before_cursor_execute", note)
    try:
        yield read
    finally:
        sa.event.remove(engine, "before_cursor_execute", note)
