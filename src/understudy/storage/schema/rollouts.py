"""Rollouts: the record of each promoted skill, its events, evidence, outcomes and trials."""

import sqlalchemy as sa

from understudy.rollout.model import EvidenceKind, Proof, RolloutEventName, Stage
from understudy.rollout.outcome import SkillOutcome
from understudy.rollout.replay.report import JudgedBy
from understudy.rollout.trials.trial import TrialState
from understudy.storage.rows import Json, Ms, RowNumber, Sorted
from understudy.storage.schema.metadata import metadata, one_of, some_of

# Literal SQL: a database uses a partial index only if the query repeats its condition.
LIVE = sa.text("status <> 'revoked'")
MOUNTED = sa.text("status = 'active'")
PENDING = sa.text("state = 'pending'")
FLAGGED = sa.text("is_flagged")
# Events after which the outcomes of a skill are counted anew.
WATCHED = sa.text("event IN ('promote', 'rollback', 'release')")


rollouts = sa.Table(
    "rollouts",
    metadata,
    sa.Column("skill_name", Sorted, primary_key=True),
    # The casefolded name: names that differ in case alone are the same.
    sa.Column("folded_name", sa.Text, nullable=False),
    sa.Column("source_learning_id", sa.Text, nullable=False),
    sa.Column("source_scope_key", sa.Text, nullable=False),
    sa.Column("status", sa.Text, nullable=False),
    # Of the definition in the body; reading a row checks it.
    sa.Column("fingerprint", sa.Text, nullable=False),
    sa.Column("digest", sa.Text, nullable=False),
    sa.Column("attempt", sa.Integer, nullable=False),
    sa.Column("revision", sa.Integer, nullable=False),
    sa.Column("promoted_at_ms", Ms, nullable=False),
    sa.Column("promoted_by", sa.Text, nullable=False),
    sa.Column("updated_at_ms", Ms, nullable=False),
    # Whether it needs attention: it is held, or was demoted.
    sa.Column("is_flagged", sa.Boolean, nullable=False),
    # The definition and the reasons, as JSON: PostgreSQL does not store every text unchanged.
    sa.Column("body", Json, nullable=False),
    one_of("status", Stage),
    # A learning has at most one rollout that is not revoked.
    some_of("uq_rollouts_live", "source_learning_id", where=LIVE, unique=True),
    some_of("uq_rollouts_live_name", "folded_name", where=LIVE, unique=True),
    sa.Index("ix_rollouts_source", "source_learning_id", "skill_name"),
    sa.Index("ix_rollouts_status", "status", "skill_name"),
    some_of("ix_rollouts_flagged", "updated_at_ms", "skill_name", where=FLAGGED),
)

# The tables below are append-only.
rollout_events = sa.Table(
    "rollout_events",
    metadata,
    sa.Column("number", RowNumber, primary_key=True, autoincrement=True),
    sa.Column("skill_name", sa.Text, sa.ForeignKey("rollouts.skill_name"), nullable=False),
    sa.Column("event", sa.Text, nullable=False),
    sa.Column("recorded_at_ms", Ms, nullable=False),
    sa.Column("body", Json, nullable=False),
    one_of("event", RolloutEventName),
    sa.Index("ix_rollout_events_skill", "skill_name", "number"),
    some_of("ix_rollout_events_watched", "skill_name", "number", where=WATCHED),
    sqlite_autoincrement=True,
)

rollout_evidence = sa.Table(
    "rollout_evidence",
    metadata,
    sa.Column("evidence_id", sa.Text, primary_key=True),
    sa.Column("skill_name", sa.Text, sa.ForeignKey("rollouts.skill_name"), nullable=False),
    # Evidence counts for one attempt; a rollout that begins anew has none.
    sa.Column("attempt", sa.Integer, nullable=False),
    sa.Column("fingerprint", sa.Text, nullable=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("proof", sa.Text, nullable=False),
    sa.Column("run_id", sa.Text, nullable=False),
    sa.Column("session_id", sa.Text, nullable=False),
    # The topmost parent session: the sessions of one conversation count once.
    sa.Column("root_session_id", sa.Text, nullable=False),
    sa.Column("success", sa.Boolean, nullable=False),
    sa.Column("note", Json, nullable=False),
    sa.Column("actor", sa.Text, nullable=False),
    sa.Column("recorded_at_ms", Ms, nullable=False),
    sa.Column("trial_id", sa.Text),
    sa.Column("workspace_digest", sa.Text),
    one_of("kind", EvidenceKind),
    one_of("proof", Proof),
    # A run is evidence of an attempt only once.
    sa.UniqueConstraint("skill_name", "attempt", "run_id"),
    # A covering index, so that counting reads no rows.
    sa.Index(
        "ix_rollout_evidence_counted",
        "skill_name",
        "attempt",
        "fingerprint",
        "kind",
        "proof",
        "success",
        "root_session_id",
    ),
    sa.Index(
        "ix_rollout_evidence_newest",
        "skill_name",
        "attempt",
        "kind",
        "recorded_at_ms",
        "evidence_id",
    ),
)

# Outcomes of the runs that used a promoted skill, by definition.
rollout_outcomes = sa.Table(
    "rollout_outcomes",
    metadata,
    sa.Column("skill_name", sa.Text, sa.ForeignKey("rollouts.skill_name"), primary_key=True),
    sa.Column("fingerprint", sa.Text, primary_key=True),
    sa.Column("run_id", sa.Text, primary_key=True),
    sa.Column("session_id", sa.Text, nullable=False),
    # The topmost parent session: the sessions of one conversation count once.
    sa.Column("root_session_id", sa.Text, nullable=False),
    sa.Column("stage", sa.Text, nullable=False),
    sa.Column("outcome", sa.Text, nullable=False),
    sa.Column("used_at_ms", Ms, nullable=False),
    sa.Column("ended_at_ms", Ms, nullable=False),
    # The sidechain run that the outcome comes from.
    sa.Column("carrying_run_id", sa.Text),
    one_of("stage", Stage),
    one_of("outcome", SkillOutcome),
    sa.Index(
        "ix_rollout_outcomes_used", "skill_name", "fingerprint", "stage", "used_at_ms", "run_id"
    ),
)

# At most one row: with the definition, it decides which sessions get a canary.
canary_secret = sa.Table(
    "canary_secret",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("secret", sa.Text, nullable=False),
    sa.Column("created_at_ms", Ms, nullable=False),
)

# Definitions of snapshots, stored once per fingerprint.
rollout_definitions = sa.Table(
    "rollout_definitions",
    metadata,
    sa.Column("skill_name", sa.Text, sa.ForeignKey("rollouts.skill_name"), primary_key=True),
    sa.Column("fingerprint", sa.Text, primary_key=True),
    sa.Column("body", Json, nullable=False),
)

rollout_snapshots = sa.Table(
    "rollout_snapshots",
    metadata,
    sa.Column("skill_name", sa.Text, sa.ForeignKey("rollouts.skill_name"), primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("attempt", sa.Integer, nullable=False),
    sa.Column("fingerprint", sa.Text, nullable=False),
    sa.Column("recorded_at_ms", Ms, nullable=False),
    # The record at that time, without its definition.
    sa.Column("body", Json, nullable=False),
    one_of("status", Stage),
    sa.ForeignKeyConstraint(
        ["skill_name", "fingerprint"],
        ["rollout_definitions.skill_name", "rollout_definitions.fingerprint"],
    ),
    some_of("ix_rollout_snapshots_active", "skill_name", "attempt", "number", where=MOUNTED),
)

rollout_trials = sa.Table(
    "rollout_trials",
    metadata,
    sa.Column("trial_id", sa.Text, primary_key=True),
    sa.Column("skill_name", sa.Text, sa.ForeignKey("rollouts.skill_name"), nullable=False),
    sa.Column("attempt", sa.Integer, nullable=False),
    sa.Column("fingerprint", sa.Text, nullable=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("marker", Json, nullable=False),
    # The run that executes the definition; null before it starts.
    sa.Column("run_id", sa.Text),
    sa.Column("session_id", sa.Text),
    sa.Column("cases", Json, nullable=False),
    sa.Column("report", Json),
    sa.Column("reason", sa.Text),
    sa.Column("actor", sa.Text, nullable=False),
    sa.Column("created_at_ms", Ms, nullable=False),
    sa.Column("ended_at_ms", Ms),
    sa.Column("workspace_digest", sa.Text),
    one_of("kind", EvidenceKind),
    one_of("state", TrialState),
    sa.Index("ix_rollout_trials_skill", "skill_name", "trial_id"),
    some_of("ix_rollout_trials_pending", "trial_id", where=PENDING),
    some_of("ix_rollout_trials_under_way", "skill_name", "trial_id", where=PENDING),
    sa.Index("uq_rollout_trials_run", "run_id", unique=True),
)

rollout_replay_cases = sa.Table(
    "rollout_replay_cases",
    metadata,
    sa.Column("trial_id", sa.Text, sa.ForeignKey("rollout_trials.trial_id"), primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("recorded_run_id", sa.Text, nullable=False),
    sa.Column("owner_id", sa.Text, nullable=False),
    sa.Column("marker", Json),
    # The two runs of the repeated input; null before the case begins.
    sa.Column("without_run_id", sa.Text),
    sa.Column("with_run_id", sa.Text),
    # The comparison of all three runs; the columns below summarise it.
    sa.Column("report", Json),
    sa.Column("judged_at_ms", Ms),
    sa.Column("yardstick", sa.Text),
    sa.Column("is_regression", sa.Boolean),
    sa.Column("is_success", sa.Boolean),
    one_of("yardstick", JudgedBy),
    sa.Index("uq_rollout_replay_cases_without", "without_run_id", unique=True),
    sa.Index("uq_rollout_replay_cases_with", "with_run_id", unique=True),
)
