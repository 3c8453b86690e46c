"""The migrations make exactly the tables the code knows, on both databases."""

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict, replace
from enum import StrEnum
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from tests.support.postgres import MakeDatabase
from tests.support.reviewed import found
from tests.support.skill_store import make_skill
from understudy.agents.model import AgentType
from understudy.assets.model import ReferenceKind
from understudy.core.audit import Outcome
from understudy.core.bell import Bell
from understudy.core.principal import Role
from understudy.deliveries.model import TryOutcome
from understudy.evolution.proposals import ProposalState
from understudy.learnings.model import (
    CandidateState,
    CapturePath,
    Kind,
    LearningStatus,
    Origin,
    PolicyDecision,
    Sensitivity,
    Source,
    Tier,
    Verification,
)
from understudy.learnings.taint import brings_others_in
from understudy.mailboxes.model import MessageStatus
from understudy.memory.record import SemanticCapture
from understudy.rollout.model import EventName, EvidenceKind, Proof
from understudy.rollout.outcome import Outcome as UseOutcome
from understudy.rollout.replay.report import JudgedBy
from understudy.rollout.stages import Stage
from understudy.rollout.trials.trial import TrialState
from understudy.runs.model import DeliveryStatus, RunRequest, RunStatus
from understudy.runs.requests import Audience, RequestKind, RequestState
from understudy.runs.signals import SignalKind
from understudy.schedules.model import (
    ExecutionStatus,
    MisfirePolicy,
    OverlapPolicy,
    ScheduleStatus,
)
from understudy.sessions.model import SessionStatus
from understudy.sessions.tasks import TaskStatus
from understudy.skills.model import SkillOrigin, SkillStatus, Visibility
from understudy.storage.candidate_rows import candidate_row
from understudy.storage.engine import open_engine
from understudy.storage.migrate import VERSION_TABLE, alembic_config, migrate
from understudy.storage.schema import learning_candidates, metadata, skills
from understudy.storage.skill_rows import skill_row
from understudy.storage.unit import Units

ROOT = Path(__file__).parents[2]
# Column, enum: what the database must accept, and nothing else.
CHECKED: list[tuple[str, str, type[StrEnum]]] = [
    ("agents", "agent_type", AgentType),
    ("file_proposals", "state", ProposalState),
    ("asset_references", "kind", ReferenceKind),
    ("sessions", "status", SessionStatus),
    ("runs", "status", RunStatus),
    ("tokens", "role", Role),
    ("audit", "outcome", Outcome),
    ("deliveries", "status", DeliveryStatus),
    ("delivery_tries", "outcome", TryOutcome),
    ("requests", "kind", RequestKind),
    ("requests", "audience", Audience),
    ("requests", "state", RequestState),
    ("schedules", "status", ScheduleStatus),
    ("schedules", "overlap_policy", OverlapPolicy),
    ("schedules", "misfire_policy", MisfirePolicy),
    ("schedule_executions", "status", ExecutionStatus),
    ("messages", "status", MessageStatus),
    ("tasks", "status", TaskStatus),
    ("signals", "kind", SignalKind),
    ("run_memories", "semantic_capture", SemanticCapture),
    ("learning_candidates", "origin", Origin),
    ("learning_candidates", "kind", Kind),
    ("learning_candidates", "sensitivity", Sensitivity),
    ("learning_candidates", "state", CandidateState),
    ("learning_candidates", "capture_path", CapturePath),
    ("learnings", "kind", Kind),
    ("learnings", "sensitivity", Sensitivity),
    ("learnings", "status", LearningStatus),
    ("learnings", "publish_tier", Tier),
    ("learnings", "verification_status", Verification),
    ("learnings", "policy_decision", PolicyDecision),
    ("skills", "origin", SkillOrigin),
    ("skills", "visibility", Visibility),
    ("skills", "status", SkillStatus),
    ("rollouts", "status", Stage),
    ("rollout_events", "event", EventName),
    ("rollout_evidence", "kind", EvidenceKind),
    ("rollout_evidence", "proof", Proof),
    ("rollout_outcomes", "stage", Stage),
    ("rollout_outcomes", "outcome", UseOutcome),
    ("rollout_snapshots", "status", Stage),
    ("rollout_replay_cases", "yardstick", JudgedBy),
    ("rollout_trials", "kind", EvidenceKind),
    ("rollout_trials", "state", TrialState),
]
MIGRATE = """
import sys
from understudy.storage.engine import open_engine
from understudy.storage.migrate import migrate
sys.stdin.read()
migrate(open_engine(sys.argv[1]))
"""


@pytest.fixture
def engine(database_url: str) -> Iterator[sa.Engine]:
    engine = open_engine(database_url)
    yield engine
    engine.dispose()


def differences(engine: sa.Engine) -> list[object]:
    ours = {*metadata.tables, VERSION_TABLE}
    options = {
        "compare_type": True,
        "compare_server_default": True,
        "include_name": lambda name, kind, _: kind != "table" or name in ours,
        "version_table": VERSION_TABLE,
    }
    with engine.connect() as connection:
        return compare_metadata(MigrationContext.configure(connection, opts=options), metadata)


def test_up_from_empty_gives_the_schema_of_the_code(engine: sa.Engine) -> None:
    migrate(engine)

    assert differences(engine) == []


def test_migrating_again_changes_nothing(engine: sa.Engine) -> None:
    migrate(engine)
    migrate(engine)

    assert differences(engine) == []


@pytest.mark.parametrize(("table", "column", "values"), CHECKED, ids=[c[0] for c in CHECKED])
def test_the_database_takes_the_values_of_the_enum_and_no_other(
    migrated_url: str, table: str, column: str, values: type[StrEnum]
) -> None:
    engine = open_engine(migrated_url)
    constraints = sa.inspect(engine).get_check_constraints(table)
    engine.dispose()

    [check] = [c for c in constraints if c["name"] == f"ck_{table}_{column}"]
    listed = set(str(check["sqltext"]).split("'")[1::2])
    assert listed == {str(value) for value in values}


def test_every_enum_column_is_checked() -> None:
    constraints = {
        str(constraint.name)
        for table in metadata.tables.values()
        for constraint in table.constraints
        if isinstance(constraint, sa.CheckConstraint)
    }

    assert constraints == {f"ck_{table}_{column}" for table, column, _ in CHECKED}


@pytest.mark.postgres
@pytest.mark.slow
def test_daemons_that_migrate_at_once_all_succeed(make_database: MakeDatabase) -> None:
    url = make_database()
    command = [sys.executable, "-c", MIGRATE, url]
    started = [
        subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stderr=subprocess.PIPE)
        for _ in range(3)
    ]
    # They wait for the end of their input, so that they begin together.
    for process in started:
        assert process.stdin is not None
        process.stdin.close()
        process.stdin = None
    said = [process.communicate(timeout=60)[1].decode() for process in started]

    assert [process.returncode for process in started] == [0, 0, 0], said
    engine = open_engine(url)
    assert differences(engine) == []
    engine.dispose()


# What the first release wrote: a run under way in a session of the built-in agent.
FIRST_ROWS: dict[str, dict[str, object]] = {
    "agents": {
        "agent_id": "default",
        "display_name": "Default",
        "agent_type": "predefined",
        "max_tool_iterations": 20,
        "other_config": "{}",
        "permissions": "{}",
        "version": 1,
        "created_at_ms": 1,
        "updated_at_ms": 1,
    },
    "sessions": {
        "session_id": "s1",
        "agent_id": "default",
        "owner_id": "alice",
        "status": "active",
        "reply_targets": "[]",
        "journal_length": 0,
        "version": 1,
        "created_at_ms": 1,
        "updated_at_ms": 1,
    },
    "runs": {
        "run_id": "run_1",
        "session_id": "s1",
        "agent_id": "default",
        "user_id": "alice",
        "kind": "input",
        "status": "running",
        "parked": True,
        "attempt": 1,
        "accepted_offset": 1,
        "submitted_at_ms": 1,
        "updated_at_ms": 1,
        "wanted": (
            '{"request":{},"input":{"items":[{"type":"text","text":"hi"}],"metadata":null},'
            '"route":{"route_id":"a","model":"m"},"max_tool_iterations":null,'
            '"debug_level":"off","reply_targets":[]}'
        ),
        "snapshot": "{}",
        "state": '{"error":null,"usage":{},"deliveries":[],"crashes":0,"progress":0}',
    },
}


def test_what_the_first_release_wrote_can_be_read_after_every_migration(engine: sa.Engine) -> None:
    with engine.connect() as connection:
        command.upgrade(alembic_config(connection), "0001")
        for name, row in FIRST_ROWS.items():
            table = sa.table(name, *(sa.column(column) for column in row))
            connection.execute(sa.insert(table).values(row))
        connection.commit()

    migrate(engine)

    with Units(engine, enqueue=lambda *_: None, bell=Bell()).read() as unit:
        run = unit.runs.get("run_1")
        session = unit.sessions.get("s1")
        assert run is not None
        assert session is not None
        assert (run.asleep, run.wakes, run.work_id) == (False, 0, "run_1")
        assert run.input.text == "hi"
        assert session.permissions is None
        assert unit.runs.awake() == {"run_1": "run_1"}


# What earlier releases kept of who asked, and of what came with it.
ASKED: dict[str, tuple[dict[str, str], str, str]] = {
    "own": ({}, "input", "text"),
    "scheduled": (
        {"source_plugin": "schedules", "source_kind": "schedule"},
        "scheduled_input",
        "text",
    ),
    "stranger": ({"actor_id": "stranger"}, "input", "text"),
    "plugin": ({"source_plugin": "email"}, "input", "text"),
    "letter": ({}, "mailbox_delivery", "text"),
    "file": ({}, "input", "asset_reference"),
}


def test_runs_of_earlier_releases_are_marked_by_whose_words_they_brought_in(
    engine: sa.Engine,
) -> None:
    with engine.connect() as connection:
        command.upgrade(alembic_config(connection), "0011")
        rows = [(name, row) for name, row in FIRST_ROWS.items() if name != "runs"]
        rows += [("runs", asked(run_id)) for run_id in ASKED]
        for name, row in rows:
            table = sa.table(name, *(sa.column(column) for column in row))
            connection.execute(sa.insert(table).values(row))
        connection.commit()

    migrate(engine)

    with Units(engine, enqueue=lambda *_: None, bell=Bell()).read() as unit:
        found = {run_id: unit.runs.get(run_id) for run_id in ASKED}
        query = sa.text("SELECT run_id FROM runs WHERE brings_others_in")
        marked = set(unit.connection.execute(query).scalars())
    assert marked == {"stranger", "plugin", "letter", "file"}
    assert marked == {run_id for run_id, run in found.items() if run and brings_others_in(run)}


def asked(run_id: str) -> dict[str, object]:
    """A run as an earlier release kept it."""
    request, kind, item_type = ASKED[run_id]
    wanted: dict[str, object] = {
        "request": asdict(RunRequest(**request)),
        "input": {"items": [{"type": item_type, "text": '"type":"asset'}], "metadata": None},
        "route": {"route_id": "a", "model": "m"},
        "max_tool_iterations": None,
        "debug_level": "off",
        "reply_targets": [],
    }
    text = json.dumps(wanted, separators=(",", ":"))
    return {**FIRST_ROWS["runs"], "run_id": run_id, "kind": kind, "wanted": text}


def test_candidates_of_earlier_releases_are_kept_and_still_stand_only_once(
    engine: sa.Engine,
) -> None:
    candidate = replace(found(), source=Source(run_id="run_1"))
    with engine.connect() as connection:
        command.upgrade(alembic_config(connection), "0015")
        connection.execute(sa.insert(learning_candidates).values(candidate_row(candidate)))
        connection.commit()

    migrate(engine)

    with Units(engine, enqueue=lambda *_: None, bell=Bell()).write() as unit:
        assert unit.candidates.get(candidate.candidate_id) == candidate
        assert not unit.candidates.add(replace(candidate, candidate_id="cand_again"))
        for path in (CapturePath.USAGE, CapturePath.ROLLOUT):
            counted = replace(
                candidate, candidate_id=f"cand_{path}", capture_path=path, source=Source()
            )
            assert unit.candidates.add(counted)


def test_versions_of_skills_of_earlier_releases_are_told_of_their_agent(engine: sa.Engine) -> None:
    made: dict[str, object] = {"digest": "d", "size": 1, "actor": "alice", "created_at_ms": 1}
    versions = [
        {"skill_id": "skl_1", "number": number, "run_id": run_id, **made}
        for number, run_id in ((1, "run_1"), (2, None), (3, "run_gone"))
    ]
    with engine.connect() as connection:
        command.upgrade(alembic_config(connection), "0015")
        kept = skill_row(make_skill("weekly", skill_id="skl_1"))
        connection.execute(sa.insert(skills).values(kept))
        rows = [*FIRST_ROWS.items(), *(("skill_versions", version) for version in versions)]
        for name, row in rows:
            table = sa.table(name, *(sa.column(column) for column in row))
            connection.execute(sa.insert(table).values(row))
        connection.commit()

    migrate(engine)

    with engine.connect() as connection:
        query = sa.text("SELECT agent_id FROM skill_versions ORDER BY number")
        assert list(connection.execute(query).scalars()) == ["default", None, None]


def test_the_journal_is_not_written_anew_for_a_column_more(engine: sa.Engine) -> None:
    said: list[str] = []

    def note(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        said.append(statement)

    with engine.connect() as connection:
        command.upgrade(alembic_config(connection), "0015")
        sa.event.listen(engine, "before_cursor_execute", note)
        command.upgrade(alembic_config(connection), "0016")
        connection.rollback()
    assert any("ALTER TABLE journal ADD" in each for each in said)
    assert not [each for each in said if "_alembic_tmp_journal" in each]
