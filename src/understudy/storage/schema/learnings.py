"""Learning tables: candidates, reviews, learnings, their uses, job queues and suggestions."""

import sqlalchemy as sa

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
from understudy.storage.rows import Json, Ms
from understudy.storage.schema.metadata import metadata, one_of, some_of

# Literal SQL: a database uses a partial index only if the query repeats its condition.
OPEN = sa.text("is_open")
SNOOZED = sa.text("is_open AND snoozed_until_ms IS NOT NULL")
OPEN_FOR_A_TIME = sa.text("is_open AND expires_at_ms IS NOT NULL")
DECIDED = sa.text("decided_at_ms IS NOT NULL")
BY_DAEMON = sa.text("origin = 'daemon'")
SENSITIVE_STATEMENT = sa.text("sensitivity = 'sensitive' AND kind <> 'run_summary'")
RUN_SUMMARY = sa.text("kind = 'run_summary'")
LIVE = sa.text("is_live")
LIVE_WITH_SUBJECT = sa.text("is_live AND subject_digest IS NOT NULL")
ACTIVE_WITH_SUBJECT = sa.text("is_active AND subject_digest IS NOT NULL")
REPLACING = sa.text("supersedes IS NOT NULL")
TAKEN_BACK = sa.text("is_taken_back")
STANDING = sa.text("is_active AND applies = 'always'")


learning_candidates = sa.Table(
    "learning_candidates",
    metadata,
    sa.Column("candidate_id", sa.Text, primary_key=True),
    sa.Column("origin", sa.Text, nullable=False),
    sa.Column("scope_key", sa.Text, nullable=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("sensitivity", sa.Text, nullable=False),
    sa.Column("state", sa.Text, nullable=False),
    # Derived from the state, so that queries use the partial index and not that of states.
    sa.Column("is_open", sa.Boolean, nullable=False),
    sa.Column("capture_path", sa.Text, nullable=False),
    sa.Column("source_run_id", sa.Text),
    # Replaces the semantic key, which is too long for an index.
    sa.Column("key_digest", sa.Text, nullable=False),
    # The version of the rules that made the key.
    sa.Column("key_rules", sa.Integer, nullable=False, server_default="0"),
    # The rule that matched: its beginning as it was written, and in one case to be compared.
    sa.Column("rule_name", sa.Text),
    sa.Column("rule_folded", sa.Text),
    # Whether the daemon decided, and whether because the candidate expired.
    sa.Column("is_automatic", sa.Boolean, nullable=False),
    sa.Column("is_expired", sa.Boolean, nullable=False),
    sa.Column("created_at_ms", Ms, nullable=False),
    sa.Column("expires_at_ms", Ms),
    sa.Column("decided_at_ms", Ms),
    sa.Column("snoozed_until_ms", Ms),
    # Sort key in the queue of review, before the id.
    sa.Column("review_rank", sa.Integer, nullable=False, server_default="0"),
    # The folded text that queries search.
    sa.Column("search", sa.Text, nullable=False),
    # The content, and the fields without a column.
    sa.Column("body", Json, nullable=False),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("applies", sa.Text, nullable=False, server_default=str(Applies.WHEN_RELEVANT)),
    one_of("origin", Origin),
    one_of("kind", Kind),
    one_of("sensitivity", Sensitivity),
    one_of("applies", Applies),
    one_of("state", CandidateState),
    one_of("capture_path", CapturePath),
    sa.Index("ix_learning_candidates_state", "state", "candidate_id"),
    sa.Index("ix_learning_candidates_applies", "applies", "candidate_id"),
    some_of("ix_learning_candidates_sensitive", "candidate_id", where=SENSITIVE_STATEMENT),
    sa.Index("ix_learning_candidates_scope", "scope_key", "candidate_id"),
    sa.Index("ix_learning_candidates_run", "source_run_id"),
    sa.Index("ix_learning_candidates_key_rules", "key_rules"),
    sa.Index("ix_learning_candidates_key", "key_digest", "scope_key", "kind", "state"),
    sa.Index(
        "ix_learning_candidates_tally",
        "capture_path",
        "rule_name",
        "state",
        "is_automatic",
        "is_expired",
    ),
    some_of("ix_learning_candidates_open", "candidate_id", where=OPEN),
    # A covering index, so that counting the queue reads no row.
    some_of(
        "ix_learning_candidates_queue",
        "review_rank",
        "candidate_id",
        "expires_at_ms",
        "snoozed_until_ms",
        # SQLite reads the rows if a column of the condition is missing.
        "is_open",
        "sensitivity",
        where=OPEN,
    ),
    some_of("ix_learning_candidates_snoozed", "snoozed_until_ms", where=SNOOZED),
    some_of(
        "ix_learning_candidates_expiring", "expires_at_ms", "candidate_id", where=OPEN_FOR_A_TIME
    ),
    some_of("ix_learning_candidates_decided", "decided_at_ms", "candidate_id", where=DECIDED),
    some_of(
        "uq_learning_candidates_proposal",
        "source_run_id",
        "scope_key",
        "kind",
        "key_digest",
        where=BY_DAEMON,
        unique=True,
    ),
    some_of("uq_learning_candidates_summary", "source_run_id", where=RUN_SUMMARY, unique=True),
)

# The review of each candidate under each policy, so that none is judged twice.
learning_reviews = sa.Table(
    "learning_reviews",
    metadata,
    sa.Column("candidate_id", sa.Text, primary_key=True),
    sa.Column("policy_digest", sa.Text, primary_key=True),
    sa.Column("reviewed_at_ms", Ms, nullable=False),
    sa.Column("body", Json, nullable=False),
)

learnings = sa.Table(
    "learnings",
    metadata,
    sa.Column("learning_id", sa.Text, primary_key=True),
    sa.Column("scope_key", sa.Text, nullable=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("sensitivity", sa.Text, nullable=False),
    sa.Column("status", sa.Text, nullable=False),
    # Derived from the status, so that queries use the partial index and not that of statuses.
    sa.Column("is_live", sa.Boolean, nullable=False),
    sa.Column("is_active", sa.Boolean, nullable=False),
    # Revoked by a person.
    sa.Column("is_taken_back", sa.Boolean, nullable=False),
    sa.Column("publish_tier", sa.Text, nullable=False),
    sa.Column("verification_status", sa.Text, nullable=False),
    sa.Column("policy_decision", sa.Text),
    sa.Column("actor_folded", sa.Text),
    sa.Column("key_digest", sa.Text, nullable=False),
    sa.Column("key_rules", sa.Integer, nullable=False, server_default="0"),
    sa.Column("subject_digest", sa.Text),
    # A candidate becomes at most one learning.
    sa.Column("source_candidate_id", sa.Text, unique=True),
    sa.Column("supersedes", sa.Text),
    sa.Column("created_at_ms", Ms, nullable=False),
    sa.Column("published_at_ms", Ms, nullable=False),
    sa.Column("expires_at_ms", Ms),
    sa.Column("search", sa.Text, nullable=False),
    sa.Column("body", Json, nullable=False),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("applies", sa.Text, nullable=False, server_default=str(Applies.WHEN_RELEVANT)),
    one_of("kind", Kind),
    one_of("sensitivity", Sensitivity),
    one_of("applies", Applies),
    one_of("status", LearningStatus),
    one_of("publish_tier", Tier),
    one_of("verification_status", Verification),
    one_of("policy_decision", PolicyDecision),
    sa.Index("ix_learnings_status", "status", "learning_id"),
    sa.Index("ix_learnings_kind", "kind", "learning_id"),
    sa.Index("ix_learnings_applies", "applies", "learning_id"),
    sa.Index("ix_learnings_publish_tier", "publish_tier", "learning_id"),
    sa.Index("ix_learnings_verification_status", "verification_status", "learning_id"),
    sa.Index("ix_learnings_policy_decision", "policy_decision", "learning_id"),
    some_of("ix_learnings_sensitive", "learning_id", where=SENSITIVE_STATEMENT),
    sa.Index("ix_learnings_scope", "scope_key", "learning_id"),
    some_of(
        "ix_learnings_newest",
        "scope_key",
        "published_at_ms",
        "learning_id",
        where=LIVE,
    ),
    sa.Index("ix_learnings_key_rules", "key_rules"),
    some_of("ix_learnings_key", "key_digest", "scope_key", "kind", where=LIVE),
    some_of("ix_learnings_subject", "subject_digest", "scope_key", "kind", where=LIVE_WITH_SUBJECT),
    some_of(
        "ix_learnings_contradicting",
        "subject_digest",
        "kind",
        "published_at_ms",
        "learning_id",
        where=ACTIVE_WITH_SUBJECT,
    ),
    some_of("ix_learnings_replacing", "supersedes", where=REPLACING),
    some_of("ix_learnings_standing", "scope_key", "published_at_ms", "learning_id", where=STANDING),
    some_of("ix_learnings_taken_back", "key_digest", "scope_key", "kind", where=TAKEN_BACK),
)

learning_uses = sa.Table(
    "learning_uses",
    metadata,
    sa.Column("learning_id", sa.Text, primary_key=True),
    sa.Column("run_id", sa.Text, primary_key=True),
    # A run that continues after a change has both versions injected.
    sa.Column("learning_version", sa.Integer, primary_key=True),
    sa.Column("session_id", sa.Text, nullable=False),
    sa.Column("at_ms", Ms, nullable=False),
    sa.Index("ix_learning_uses_newest", "learning_id", "at_ms", "run_id", "learning_version"),
    sa.Index("ix_learning_uses_run", "run_id"),
)


def queue(name: str) -> sa.Table:
    """A job queue table, by the id of the job's subject."""
    return sa.Table(
        name,
        metadata,
        sa.Column("job_id", sa.Text, primary_key=True),
        # When it may be claimed; for a claimed job, when the lease expires.
        sa.Column("due_at_ms", Ms, nullable=False),
        sa.Column("attempts", sa.Integer, nullable=False),
        # The token of the claim; null while it waits.
        sa.Column("claim", sa.Text),
        # Queued again while claimed: when it is due after the current execution.
        sa.Column("again_at_ms", Ms),
        # Whether the job is in the lane that needs a model.
        sa.Column("needs_model", sa.Boolean, nullable=False, server_default=sa.false()),
        sa.Column("error", Json),
        sa.Index(f"ix_{name}_due", "needs_model", "due_at_ms", "job_id"),
    )


review_jobs = queue("review_jobs")
capture_jobs = queue("capture_jobs")


suggestions = sa.Table(
    "suggestions",
    metadata,
    sa.Column("rule", sa.Text, primary_key=True),
    # The subject: a skill, or an agent and the tools that it keeps using.
    sa.Column("subject", sa.Text, primary_key=True),
    # The candidate that was last made from it.
    sa.Column("candidate_id", sa.Text, nullable=False),
    sa.Column("at_ms", Ms, nullable=False),
)

# One row: when any daemon on this database last computed suggestions.
suggestion_looks = sa.Table(
    "suggestion_looks",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("at_ms", Ms, nullable=False),
)
