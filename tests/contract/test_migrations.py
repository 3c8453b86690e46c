"""The migrations make exactly the tables the code knows, on both databases."""

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from enum import StrEnum
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from tests.support.factories import NOW
from tests.support.postgres import MakeDatabase
from understudy.access.signing_keys import KeyKind
from understudy.agents.model import AgentType
from understudy.assets.model import Asset, ReferenceKind
from understudy.background_tasks.model import BackgroundStatus
from understudy.channels.bridge_model import BridgeDeliveryStatus, Connector
from understudy.channels.model import EventName, ThreadStatus, TopicKind
from understudy.channels.stimulus_model import StimulusStatus
from understudy.core.audit import AuditOutcome
from understudy.core.errors import Unavailable
from understudy.core.principal import Role
from understudy.deliveries.model import TryOutcome
from understudy.evolution.proposals import ProposalState
from understudy.learnings.model import (
    Applies,
    CandidateState,
    CapturePath,
    Kind,
    LearningStatus,
    Origin,
    PolicyDecision,
    Sensitivity,
    Tier,
    Verification,
)
from understudy.mailboxes.model import MessageStatus
from understudy.memory.record import CaptureState, SemanticCapture
from understudy.playbooks.model import ReleaseStatus
from understudy.rollout.model import EvidenceKind, Proof, RolloutEventName, Stage
from understudy.rollout.outcome import SkillOutcome as UseOutcome
from understudy.rollout.replay.report import JudgedBy
from understudy.rollout.trials.trial import TrialState
from understudy.runs.model import DeliveryStatus, RunStatus
from understudy.runs.requests import Audience, RequestKind, RequestState
from understudy.runs.sleep import SignalKind
from understudy.schedules.model import (
    ExecutionStatus,
    MisfirePolicy,
    OverlapPolicy,
    ScheduleStatus,
)
from understudy.sessions.model import MemberKind, SessionStatus
from understudy.sessions.tasks import TaskStatus
from understudy.skills.model import SkillOrigin, SkillStatus, VersionState, Visibility
from understudy.storage.assets import AssetStore
from understudy.storage.engine import dialect_of, open_engine
from understudy.storage.migrate import VERSION_TABLE, alembic_config, migrate
from understudy.storage.rows import to_row
from understudy.storage.schema import (
    assets,
    metadata,
)
from understudy.storage.visible_connection import VisibleConnection
from understudy.unlearn.model import UnlearnMode, UnlearnStatus

ROOT = Path(__file__).parents[2]
# Column, enum: what the database must accept, and nothing else.
CHECKED: list[tuple[str, str, type[StrEnum]]] = [
    ("agents", "agent_type", AgentType),
    ("signing_keys", "kind", KeyKind),
    ("unlearns", "mode", UnlearnMode),
    ("unlearns", "status", UnlearnStatus),
    ("file_proposals", "state", ProposalState),
    ("asset_references", "kind", ReferenceKind),
    ("channel_bridges", "connector", Connector),
    ("bridge_deliveries", "status", BridgeDeliveryStatus),
    ("channel_members", "member_kind", MemberKind),
    ("channel_threads", "topic_kind", TopicKind),
    ("channel_threads", "status", ThreadStatus),
    ("channel_stimuli", "status", StimulusStatus),
    ("channel_events", "name", EventName),
    ("sessions", "status", SessionStatus),
    ("runs", "status", RunStatus),
    ("tokens", "role", Role),
    ("audit", "outcome", AuditOutcome),
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
    ("project_tasks", "status", TaskStatus),
    ("playbook_versions", "status", ReleaseStatus),
    ("background_tasks", "status", BackgroundStatus),
    ("signals", "kind", SignalKind),
    ("run_memories", "semantic_capture", SemanticCapture),
    ("run_captures", "state", CaptureState),
    ("learning_candidates", "origin", Origin),
    ("learning_candidates", "kind", Kind),
    ("learning_candidates", "sensitivity", Sensitivity),
    ("learning_candidates", "state", CandidateState),
    ("learning_candidates", "capture_path", CapturePath),
    ("learning_candidates", "applies", Applies),
    ("learnings", "kind", Kind),
    ("learnings", "sensitivity", Sensitivity),
    ("learnings", "applies", Applies),
    ("learnings", "status", LearningStatus),
    ("learnings", "publish_tier", Tier),
    ("learnings", "verification_status", Verification),
    ("learnings", "policy_decision", PolicyDecision),
    ("skills", "origin", SkillOrigin),
    ("skills", "visibility", Visibility),
    ("skills", "status", SkillStatus),
    ("skill_versions", "state", VersionState),
    ("rollouts", "status", Stage),
    ("rollout_events", "event", RolloutEventName),
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


def at_revision(engine: sa.Engine, revision: str) -> None:
    """Apply the migrations up to this one."""
    with engine.connect() as connection:
        command.upgrade(alembic_config(connection), revision)
        connection.commit()


def test_a_new_database_has_the_schema_of_the_code(engine: sa.Engine) -> None:
    migrate(engine)

    assert differences(engine) == []


def test_a_schema_that_cannot_be_completed_leaves_nothing_behind(tmp_path: Path) -> None:
    engine = open_engine(f"sqlite:///{tmp_path / 'small'}")
    with engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA max_page_count=100")
    with pytest.raises(sa.exc.OperationalError, match="disk is full"):
        migrate(engine)
    assert sa.inspect(engine).get_table_names() == []
    engine.dispose()

    migrate(engine)

    assert differences(engine) == []
    engine.dispose()


def test_a_sqlite_file_with_tables_of_others_keeps_them(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'shared'}"
    engine = open_engine(url)
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE theirs (name TEXT)")

    migrate(engine)

    assert differences(engine) == []
    engine.dispose()


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


def test_files_of_before_keep_the_name_for_their_first_owner_alone(engine: sa.Engine) -> None:
    at_revision(engine, "0049")
    asset = Asset(
        asset_id="ast_1",
        file_name="ann.txt",
        media_type="text/plain",
        size=1,
        sha256="0" * 64,
        owner_id="ann",
        created_at_ms=NOW,
    )
    with engine.begin() as connection:
        connection.execute(sa.insert(assets).values(to_row(asset, assets)))
        for owner in ("ann", "bob"):
            connection.execute(
                sa.text("INSERT INTO asset_owners (owner_id, asset_id) VALUES (:owner, 'ast_1')"),
                {"owner": owner},
            )

    migrate(engine)

    with engine.connect() as connection:
        store = AssetStore(VisibleConnection(connection), dialect_of(engine))
        assert store.get("ast_1", user_id="ann") == asset
        assert store.get("ast_1", user_id="bob") == replace(
            asset, owner_id="bob", file_name="ast_1"
        )
    assert differences(engine) == []


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


@pytest.mark.postgres
def test_a_server_that_keeps_stopped_daemons_connected_is_refused(
    make_database: MakeDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = open_engine(make_database())
    with engine.connect() as connection:
        version = connection.exec_driver_sql("SHOW server_version_num").scalar_one()
    monkeypatch.setattr("understudy.storage.migrate.OLDEST_SERVER", (99,))

    with pytest.raises(Unavailable) as refused:
        migrate(engine)

    assert refused.value.code == "server_too_old"
    major = int(version) // 10_000
    assert f"is PostgreSQL {major}; Understudy needs PostgreSQL 99 or newer" in str(refused.value)
    with engine.connect() as connection:
        assert sa.inspect(connection).get_table_names() == []
    engine.dispose()
