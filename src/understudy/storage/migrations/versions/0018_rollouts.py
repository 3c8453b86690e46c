"""rollouts, where a session works, and which definition of a skill a run executed."""

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None

SORTED = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
ROW_NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
LIVE = sa.text("status <> 'revoked'")
MOUNTED = sa.text("status = 'active'")
PENDING = sa.text("state = 'pending'")
EXECUTED = sa.text("skill_fingerprint IS NOT NULL")
FLAGGED = sa.text("is_flagged")
WATCHED = sa.text("event IN ('promote', 'rollback', 'release')")
OF_PROMOTED = sa.text("fingerprint IS NOT NULL")
DECIDED = sa.text("decided_at_ms IS NOT NULL")
EXPIRING = sa.text("is_open AND expires_at_ms IS NOT NULL")
OPEN = sa.text("is_open")
BY_DAEMON = sa.text("origin = 'daemon'")
SUMMARY = sa.text("kind = 'run_summary'")
STAGES = "status IN ('draft', 'verified', 'canary', 'active', 'revoked')"
KINDS = "kind IN ('verification', 'canary')"


def upgrade() -> None:
    _make_rollouts()
    _make_events()
    _make_evidence()
    _make_outcomes()
    _make_canary_secret()
    _make_definitions()
    _make_snapshots()
    _make_trials()
    _make_replay_cases()
    with op.batch_alter_table("sessions", schema=None) as batch_op:
        batch_op.add_column(sa.Column("workdir", sa.Text(), nullable=True))
        batch_op.add_column(sa.Column("trial_id", sa.Text(), nullable=True))
    with op.batch_alter_table("skill_uses", schema=None) as batch_op:
        batch_op.add_column(sa.Column("fingerprint", sa.Text(), nullable=True))
        batch_op.add_column(sa.Column("version_label", sa.Text(), nullable=True))
    with op.batch_alter_table("signals", schema=None) as batch_op:
        batch_op.add_column(sa.Column("due_at_ms", sa.BigInteger(), nullable=True))
    with op.batch_alter_table("runs", schema=None) as batch_op:
        batch_op.add_column(sa.Column("skill_fingerprint", sa.Text(), nullable=True))
        batch_op.add_column(sa.Column("trial_id", sa.Text(), nullable=True))
    _index(
        "runs",
        "ix_runs_skill_fingerprint",
        "skill_fingerprint",
        "submitted_at_ms",
        "run_id",
        where=EXECUTED,
    )
    _index("skill_uses", "ix_skill_uses_promoted", "at_ms", "run_id", where=OF_PROMOTED)
    # SQLite cannot change a check: the table is made anew, from what 0016 made of it.
    with op.batch_alter_table(
        "learning_candidates", schema=None, copy_from=_candidates()
    ) as batch_op:
        batch_op.drop_constraint(op.f("ck_learning_candidates_capture_path"), type_="check")
        batch_op.create_check_constraint(
            op.f("ck_learning_candidates_capture_path"),
            "capture_path IN ('api', 'run_summary', 'labels', 'model', 'usage', 'rollout')",
        )


def _make_rollouts() -> None:
    op.create_table(
        "rollouts",
        sa.Column("skill_name", SORTED, nullable=False),
        sa.Column("folded_name", sa.Text(), nullable=False),
        sa.Column("source_learning_id", sa.Text(), nullable=False),
        sa.Column("source_scope_key", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("fingerprint", sa.Text(), nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("promoted_at_ms", sa.BigInteger(), nullable=False),
        sa.Column("promoted_by", sa.Text(), nullable=False),
        sa.Column("updated_at_ms", sa.BigInteger(), nullable=False),
        sa.Column("is_flagged", sa.Boolean(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.CheckConstraint(STAGES, name=op.f("ck_rollouts_status")),
        sa.PrimaryKeyConstraint("skill_name", name=op.f("pk_rollouts")),
    )
    _index("rollouts", "uq_rollouts_live", "source_learning_id", where=LIVE, unique=True)
    _index("rollouts", "uq_rollouts_live_name", "folded_name", where=LIVE, unique=True)
    _index("rollouts", "ix_rollouts_source", "source_learning_id", "skill_name")
    _index("rollouts", "ix_rollouts_status", "status", "skill_name")
    _index("rollouts", "ix_rollouts_flagged", "updated_at_ms", "skill_name", where=FLAGGED)


def _make_events() -> None:
    op.create_table(
        "rollout_events",
        sa.Column("number", ROW_NUMBER, autoincrement=True, nullable=False),
        sa.Column("skill_name", sa.Text(), nullable=False),
        sa.Column("event", sa.Text(), nullable=False),
        sa.Column("recorded_at_ms", sa.BigInteger(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.CheckConstraint(
            "event IN ('promote', 'rollout_result', 'revoke', 'rollback', 'hold', 'release', "
            "'demote')",
            name=op.f("ck_rollout_events_event"),
        ),
        _of_rollout("rollout_events"),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_rollout_events")),
        sqlite_autoincrement=True,
    )
    _index("rollout_events", "ix_rollout_events_skill", "skill_name", "number")
    _index("rollout_events", "ix_rollout_events_watched", "skill_name", "number", where=WATCHED)


def _make_evidence() -> None:
    op.create_table(
        "rollout_evidence",
        sa.Column("evidence_id", sa.Text(), nullable=False),
        sa.Column("skill_name", sa.Text(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("fingerprint", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("proof", sa.Text(), nullable=False),
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("session_id", sa.Text(), nullable=False),
        sa.Column("root_session_id", sa.Text(), nullable=False),
        sa.Column("success", sa.Boolean(), nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("recorded_at_ms", sa.BigInteger(), nullable=False),
        sa.Column("trial_id", sa.Text(), nullable=True),
        sa.Column("workspace_digest", sa.Text(), nullable=True),
        sa.CheckConstraint(KINDS, name=op.f("ck_rollout_evidence_kind")),
        sa.CheckConstraint(
            "proof IN ('attested', 'executed')", name=op.f("ck_rollout_evidence_proof")
        ),
        _of_rollout("rollout_evidence"),
        sa.PrimaryKeyConstraint("evidence_id", name=op.f("pk_rollout_evidence")),
        sa.UniqueConstraint(
            "skill_name",
            "attempt",
            "run_id",
            name=op.f("uq_rollout_evidence_skill_name_attempt_run_id"),
        ),
    )
    counted = ("fingerprint", "kind", "proof", "success", "root_session_id")
    newest = ("kind", "recorded_at_ms", "evidence_id")
    for what, columns in {"counted": counted, "newest": newest}.items():
        name = f"ix_rollout_evidence_{what}"
        _index("rollout_evidence", name, "skill_name", "attempt", *columns)


def _make_outcomes() -> None:
    op.create_table(
        "rollout_outcomes",
        sa.Column("skill_name", sa.Text(), nullable=False),
        sa.Column("fingerprint", sa.Text(), nullable=False),
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("session_id", sa.Text(), nullable=False),
        sa.Column("root_session_id", sa.Text(), nullable=False),
        sa.Column("stage", sa.Text(), nullable=False),
        sa.Column("outcome", sa.Text(), nullable=False),
        sa.Column("used_at_ms", sa.BigInteger(), nullable=False),
        sa.Column("ended_at_ms", sa.BigInteger(), nullable=False),
        sa.Column("carrying_run_id", sa.Text(), nullable=True),
        sa.CheckConstraint(
            STAGES.replace("status", "stage"), name=op.f("ck_rollout_outcomes_stage")
        ),
        sa.CheckConstraint(
            "outcome IN ('succeeded', 'failed', 'abandoned')",
            name=op.f("ck_rollout_outcomes_outcome"),
        ),
        _of_rollout("rollout_outcomes"),
        sa.PrimaryKeyConstraint(
            "skill_name", "fingerprint", "run_id", name=op.f("pk_rollout_outcomes")
        ),
    )
    used = ("skill_name", "fingerprint", "stage", "used_at_ms", "run_id")
    _index("rollout_outcomes", "ix_rollout_outcomes_used", *used)


def _make_canary_secret() -> None:
    op.create_table(
        "canary_secret",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("secret", sa.Text(), nullable=False),
        sa.Column("created_at_ms", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_canary_secret")),
    )


def _make_definitions() -> None:
    op.create_table(
        "rollout_definitions",
        sa.Column("skill_name", sa.Text(), nullable=False),
        sa.Column("fingerprint", sa.Text(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        _of_rollout("rollout_definitions"),
        sa.PrimaryKeyConstraint("skill_name", "fingerprint", name=op.f("pk_rollout_definitions")),
    )


def _make_snapshots() -> None:
    op.create_table(
        "rollout_snapshots",
        sa.Column("skill_name", sa.Text(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("fingerprint", sa.Text(), nullable=False),
        sa.Column("recorded_at_ms", sa.BigInteger(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.CheckConstraint(STAGES, name=op.f("ck_rollout_snapshots_status")),
        _of_rollout("rollout_snapshots"),
        sa.ForeignKeyConstraint(
            ["skill_name", "fingerprint"],
            ["rollout_definitions.skill_name", "rollout_definitions.fingerprint"],
            name=op.f("fk_rollout_snapshots_skill_name_fingerprint"),
        ),
        sa.PrimaryKeyConstraint("skill_name", "number", name=op.f("pk_rollout_snapshots")),
    )
    in_force = ("skill_name", "attempt", "number")
    _index("rollout_snapshots", "ix_rollout_snapshots_active", *in_force, where=MOUNTED)


def _make_trials() -> None:
    op.create_table(
        "rollout_trials",
        sa.Column("trial_id", sa.Text(), nullable=False),
        sa.Column("skill_name", sa.Text(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("fingerprint", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("marker", sa.Text(), nullable=False),
        sa.Column("run_id", sa.Text(), nullable=True),
        sa.Column("session_id", sa.Text(), nullable=True),
        sa.Column("cases", sa.Text(), nullable=False),
        sa.Column("report", sa.Text(), nullable=True),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("created_at_ms", sa.BigInteger(), nullable=False),
        sa.Column("ended_at_ms", sa.BigInteger(), nullable=True),
        sa.Column("workspace_digest", sa.Text(), nullable=True),
        sa.CheckConstraint(KINDS, name=op.f("ck_rollout_trials_kind")),
        sa.CheckConstraint(
            "state IN ('pending', 'passed', 'failed')", name=op.f("ck_rollout_trials_state")
        ),
        _of_rollout("rollout_trials"),
        sa.PrimaryKeyConstraint("trial_id", name=op.f("pk_rollout_trials")),
    )
    _index("rollout_trials", "ix_rollout_trials_skill", "skill_name", "trial_id")
    _index("rollout_trials", "ix_rollout_trials_pending", "trial_id", where=PENDING)
    _index("rollout_trials", "ix_rollout_trials_under_way", "skill_name", "trial_id", where=PENDING)
    _index("rollout_trials", "uq_rollout_trials_run", "run_id", unique=True)


def _make_replay_cases() -> None:
    op.create_table(
        "rollout_replay_cases",
        sa.Column("trial_id", sa.Text(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("recorded_run_id", sa.Text(), nullable=False),
        sa.Column("owner_id", sa.Text(), nullable=False),
        sa.Column("marker", sa.Text(), nullable=True),
        sa.Column("without_run_id", sa.Text(), nullable=True),
        sa.Column("with_run_id", sa.Text(), nullable=True),
        sa.Column("report", sa.Text(), nullable=True),
        sa.Column("judged_at_ms", sa.BigInteger(), nullable=True),
        sa.Column("yardstick", sa.Text(), nullable=True),
        sa.Column("is_regression", sa.Boolean(), nullable=True),
        sa.Column("is_success", sa.Boolean(), nullable=True),
        sa.CheckConstraint(
            "yardstick IN ('marker', 'judge', 'status')",
            name=op.f("ck_rollout_replay_cases_yardstick"),
        ),
        sa.ForeignKeyConstraint(
            ["trial_id"],
            ["rollout_trials.trial_id"],
            name=op.f("fk_rollout_replay_cases_trial_id"),
        ),
        sa.PrimaryKeyConstraint("trial_id", "number", name=op.f("pk_rollout_replay_cases")),
    )
    for side in ("without", "with"):
        name = f"uq_rollout_replay_cases_{side}"
        _index("rollout_replay_cases", name, f"{side}_run_id", unique=True)


def _candidates() -> sa.Table:
    return sa.Table(
        "learning_candidates",
        sa.MetaData(),
        sa.Column("candidate_id", sa.Text(), nullable=False),
        sa.Column("origin", sa.Text(), nullable=False),
        sa.Column("scope_key", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("sensitivity", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("is_open", sa.Boolean(), nullable=False),
        sa.Column("capture_path", sa.Text(), nullable=False),
        sa.Column("source_run_id", sa.Text(), nullable=True),
        sa.Column("key_digest", sa.Text(), nullable=False),
        sa.Column("rule_name", sa.Text(), nullable=True),
        sa.Column("rule_folded", sa.Text(), nullable=True),
        sa.Column("is_automatic", sa.Boolean(), nullable=False),
        sa.Column("is_expired", sa.Boolean(), nullable=False),
        sa.Column("created_at_ms", sa.BigInteger(), nullable=False),
        sa.Column("expires_at_ms", sa.BigInteger(), nullable=True),
        sa.Column("decided_at_ms", sa.BigInteger(), nullable=True),
        sa.Column("search", sa.Text(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        *_checks(),
        *_indexes(),
        sa.PrimaryKeyConstraint("candidate_id", name=op.f("pk_learning_candidates")),
    )


def _checks() -> tuple[sa.CheckConstraint, ...]:
    said = {
        "capture_path": "capture_path IN ('api', 'run_summary', 'labels', 'model', 'usage')",
        "kind": "kind IN ('run_summary', 'fact', 'preference', 'decision', 'procedure')",
        "origin": "origin IN ('api', 'daemon')",
        "sensitivity": "sensitivity IN ('scoped', 'sensitive')",
        "state": "state IN ('pending', 'escalated', 'published', 'rejected')",
    }
    return tuple(
        sa.CheckConstraint(text, name=op.f(f"ck_learning_candidates_{name}"))
        for name, text in said.items()
    )


def _indexes() -> tuple[sa.Index, ...]:
    tally = ("capture_path", "rule_name", "state", "is_automatic", "is_expired")
    proposal = ("source_run_id", "scope_key", "kind", "key_digest")
    return (
        _candidate_index(
            "ix_learning_candidates_decided", "decided_at_ms", "candidate_id", where=DECIDED
        ),
        _candidate_index(
            "ix_learning_candidates_expiring", "expires_at_ms", "candidate_id", where=EXPIRING
        ),
        _candidate_index("ix_learning_candidates_key", "key_digest", "scope_key", "kind", "state"),
        _candidate_index("ix_learning_candidates_open", "candidate_id", where=OPEN),
        _candidate_index("ix_learning_candidates_scope", "scope_key", "candidate_id"),
        _candidate_index("ix_learning_candidates_state", "state", "candidate_id"),
        _candidate_index("ix_learning_candidates_tally", *tally),
        _candidate_index(
            "uq_learning_candidates_proposal", *proposal, unique=True, where=BY_DAEMON
        ),
        _candidate_index(
            "uq_learning_candidates_summary", "source_run_id", unique=True, where=SUMMARY
        ),
    )


def _candidate_index(
    name: str, *columns: str, unique: bool = False, where: sa.TextClause | None = None
) -> sa.Index:
    return sa.Index(name, *columns, unique=unique, sqlite_where=where, postgresql_where=where)


def _of_rollout(table: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(
        ["skill_name"], ["rollouts.skill_name"], name=op.f(f"fk_{table}_skill_name")
    )


def _index(
    table: str,
    name: str,
    *columns: str,
    unique: bool = False,
    where: sa.TextClause | None = None,
) -> None:
    op.create_index(
        name, table, [*columns], unique=unique, sqlite_where=where, postgresql_where=where
    )
