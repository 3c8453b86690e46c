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
from tests.support.openapi import committed_document
from understudy.daemon.wiring import Daemon
from understudy.storage.retention import RETAINED
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
DOCUMENT = committed_document()
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


@pytest.mark.parametrize(
    ("operation", "name", "index"),
    [
        ("learnings.list", "kind", "ix_learnings_kind"),
        ("learnings.list", "applies", "ix_learnings_applies"),
        ("learnings.list", "publish_tier", "ix_learnings_publish_tier"),
        ("learnings.list", "verification_status", "ix_learnings_verification_status"),
        ("learnings.list", "policy_decision", "ix_learnings_policy_decision"),
        ("learning_candidates.list", "applies", "ix_learning_candidates_applies"),
        ("approvals.list", "session_id", "ix_requests_session"),
        ("approvals.list", "run_id", "ix_requests_run"),
        ("questions.list", "session_id", "ix_requests_session"),
        ("playbooks.list", "status", "ix_playbook_versions_status"),
        ("projects.list", "status", "ix_projects_status"),
        ("schedules.list", "status", "ix_schedules_status"),
        ("schedules.list", "session_id", "ix_schedules_session"),
        ("mailboxes.list_of_agent", "status", "ix_messages_status"),
    ],
)
def test_a_list_that_is_narrowed_reads_only_what_fits(
    furnished: SkillUsers, operation: str, name: str, index: str
) -> None:
    """Otherwise a word that few records have, or none, reads them all."""
    path, asked = LISTS[operation]
    [word] = [_word(each) for each in asked if each["name"] == name]
    if name in ("session_id", "run_id"):
        word = _made_run(furnished)[name]

    with plans(furnished.daemon) as planned:
        furnished.root.ok("GET", path.format_map({"agent_id": "default"}), params={name: word})

    assert any(
        step.startswith("SEARCH") and f"INDEX {index} (" in step and "B-TREE" not in "".join(plan)
        for plan in planned()
        for step in plan
    )


def test_the_audit_finds_refused_attempts_without_reading_what_was_done(
    furnished: SkillUsers,
) -> None:
    with plans(furnished.daemon) as planned:
        furnished.root.ok("GET", "/v1/audit", params={"outcome": "refused"})

    assert any("INDEX ix_audit_refused" in step for plan in planned() for step in plan)


@pytest.mark.parametrize(
    "path", ["/v1/inbox", "/v1/status", "/v1/runs/counts", "/v1/learning-candidates/next"]
)
def test_what_is_counted_reads_no_rows(furnished: SkillUsers, path: str) -> None:
    with plans(furnished.daemon, of="count(") as planned:
        furnished.root.ok("GET", path)

    counted = [step for plan in planned() for step in plan if _of_growing(step)]
    assert counted != []
    # Of a range of an index there are few rows: drafts, and what is snoozed or expired.
    assert [step for step in counted if step.startswith("SCAN") and "COVERING" not in step] == []


@pytest.mark.parametrize("kind", RETAINED)
def test_retention_finds_the_oldest_rows_by_their_age(furnished: SkillUsers, kind: str) -> None:
    with plans(furnished.daemon) as planned, furnished.daemon.resources.units.write() as unit:
        unit.retention.prune(kind, before_ms=1, most=1)

    age = RETAINED[kind].age
    index = f"INDEX ix_{age.table.name}_{age.name} ("
    steps = [step for plan in planned() for step in plan]
    assert any(step.startswith("SEARCH") and index in step for step in steps), steps


def _named(users: SkillUsers, path: str) -> dict[str, str]:
    """Something that is there for each name in a path."""
    made = furniture(users.root, path, without={"run_id", "flow_id"})
    if "{run_id}" in path:
        made["run_id"] = _made_run(users)["run_id"]
    return dict.fromkeys(_names(path), "none") | made


def _made_run(users: SkillUsers) -> dict[str, str]:
    run = make_run(users.root.ok("POST", "/v1/sessions", {})["session_id"])
    with users.daemon.resources.units.write() as unit:
        unit.runs.add(run)
    return {"run_id": run.run_id, "session_id": run.session_id}


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


def _of_growing(step: str) -> bool:
    is_read = step.startswith(("SCAN", "SEARCH")) and "ix_skill_versions_drafts" not in step
    return is_read and step.split()[1] in GROWING


def _is_numbered(table: str) -> bool:
    return any(column.autoincrement is True for column in metadata.tables[table].primary_key)


@contextmanager
def plans(daemon: Daemon, *, of: str = "") -> Iterator[Callable[[], list[list[str]]]]:
    """How SQLite answers each thing that is asked of it meanwhile, or those with these words."""
    engine = daemon.resources.database
    asked: list[tuple[str, Any]] = []

    def note(_connection: Any, _cursor: Any, statement: str, values: Any, *_: Any) -> None:
        if statement.lstrip().startswith(("SELECT", "WITH")) and of in statement:
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
