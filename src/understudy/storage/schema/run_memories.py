"""Run memory: pointers, records where they are rows, and the term index.

The postings differ by database: `term_tokens` is created by its migration, as a full-text table on
SQLite and as a table with a GIN index on PostgreSQL.
"""

import sqlalchemy as sa

from understudy.memory.record import CaptureState, SemanticCapture
from understudy.storage.rows import Json, Ms, RowNumber
from understudy.storage.schema.metadata import metadata, one_of, some_of

run_memories = sa.Table(
    "run_memories",
    metadata,
    sa.Column("run_id", sa.Text, sa.ForeignKey("runs.run_id"), primary_key=True),
    sa.Column("session_id", sa.Text, nullable=False),
    sa.Column("recorded_at_ms", Ms, nullable=False),
    sa.Column("semantic_capture", sa.Text, nullable=False),
    # Changes whenever the record changes.
    sa.Column("stamp", sa.Text, nullable=False),
    one_of("semantic_capture", SemanticCapture),
    sa.Index("ix_run_memories_session", "session_id", "recorded_at_ms", "run_id"),
    sa.Index("ix_run_memories_oldest", "recorded_at_ms", "run_id"),
    sa.Index(
        "ix_run_memories_pending",
        "recorded_at_ms",
        sqlite_where=sa.text("semantic_capture = 'pending'"),
        postgresql_where=sa.text("semantic_capture = 'pending'"),
    ),
)

run_memory_scopes = sa.Table(
    "run_memory_scopes",
    metadata,
    sa.Column("scope_key", sa.Text, primary_key=True),
    sa.Column("recorded_at_ms", Ms, primary_key=True),
    sa.Column(
        "run_id",
        sa.Text,
        sa.ForeignKey("run_memories.run_id", ondelete="CASCADE"),
        primary_key=True,
        index=True,
    ),
)

# The records themselves, where several daemons share a database.
run_memory_bodies = sa.Table(
    "run_memory_bodies",
    metadata,
    sa.Column("run_id", sa.Text, primary_key=True),
    sa.Column("body", Json, nullable=False),
    sa.Column("stamp", sa.Text, nullable=False),
)

# Longer, scrubbed copies of request and outcome, for capture.
run_memory_evidence = sa.Table(
    "run_memory_evidence",
    metadata,
    sa.Column(
        "run_id",
        sa.Text,
        sa.ForeignKey("run_memories.run_id", ondelete="CASCADE"),
        primary_key=True,
    ),
    # As JSON: PostgreSQL text takes neither NUL nor lone surrogates.
    sa.Column("request", Json, nullable=False),
    sa.Column("outcome", Json, nullable=False),
)

# How the capture of a run ended.
run_captures = sa.Table(
    "run_captures",
    metadata,
    sa.Column(
        "run_id",
        sa.Text,
        sa.ForeignKey("run_memories.run_id", ondelete="CASCADE"),
        primary_key=True,
    ),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("found", sa.Integer, nullable=False),
    sa.Column("attempts", sa.Integer, nullable=False),
    sa.Column("reason", sa.Text),
    sa.Column("at_ms", Ms, nullable=False),
    one_of("state", CaptureState),
    some_of("ix_run_captures_given_up", "at_ms", where=sa.text("state = 'given_up'")),
)

# Runs whose record could not be written when they ended.
run_memory_backlog = sa.Table(
    "run_memory_backlog",
    metadata,
    sa.Column("run_id", sa.Text, sa.ForeignKey("runs.run_id"), primary_key=True),
    sa.Column("reason", sa.Text, nullable=False),
    sa.Column("at_ms", Ms, nullable=False),
)


term_entries = sa.Table(
    "term_entries",
    metadata,
    sa.Column("number", RowNumber, primary_key=True, autoincrement=True),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("source_id", sa.Text, nullable=False),
    sa.Column("at_ms", Ms, nullable=False),
    sa.Column("length", sa.Integer, nullable=False),
    sa.Column("scopes", Json, nullable=False),
    # The packed tokens, where they are needed to remove the entry; else empty.
    sa.Column("tokens", sa.LargeBinary, nullable=False),
    sa.UniqueConstraint("kind", "source_id"),
    sa.Index("ix_term_entries_length", "kind", "length"),
    # A number is never reused: the full-text table may still have postings of it.
    sqlite_autoincrement=True,
)

# The columns that a search reads; the scopes as stored text.
FOUND = (term_entries.c.source_id, term_entries.c.at_ms, sa.column("scopes", sa.Text))
