"""Who may call, what they did, what they were answered, and what they decided at run time."""

import sqlalchemy as sa

from understudy.core.audit import AuditOutcome
from understudy.core.principal import Role
from understudy.storage.rows import Json, Ms, RowNumber
from understudy.storage.schema.metadata import metadata, one_of

tokens = sa.Table(
    "tokens",
    metadata,
    sa.Column("token_id", sa.Text, primary_key=True),
    sa.Column("token_hash", sa.Text, nullable=False, unique=True),
    sa.Column("user_id", sa.Text, nullable=False),
    sa.Column("role", sa.Text, nullable=False),
    sa.Column("created_at_ms", Ms, nullable=False),
    sa.Column("locale", sa.Text),
    one_of("role", Role),
)

audit = sa.Table(
    "audit",
    metadata,
    sa.Column("number", RowNumber, primary_key=True, autoincrement=True),
    sa.Column("at_ms", Ms, nullable=False),
    sa.Column("actor", sa.Text, nullable=False, index=True),
    sa.Column("action", sa.Text, nullable=False),
    sa.Column("resource", sa.Text, nullable=False, index=True),
    sa.Column("resource_id", sa.Text, nullable=False),
    sa.Column("outcome", sa.Text, nullable=False),
    sa.Column("version", sa.Integer),
    sa.Column("reason", sa.Text),
    sa.Column("request_id", sa.Text, nullable=False),
    one_of("outcome", AuditOutcome),
    sqlite_autoincrement=True,
)

# Idempotency keys of all other requests, with the answer that was given; no status: under way.
responses = sa.Table(
    "responses",
    metadata,
    sa.Column("key_hash", sa.Text, primary_key=True),
    sa.Column("fingerprint", sa.Text, nullable=False),
    sa.Column("status", sa.Integer),
    sa.Column("body", Json),
    sa.Column("created_at_ms", Ms, nullable=False, index=True),
)


runtime_revisions = sa.Table(
    "runtime_revisions",
    metadata,
    sa.Column("revision", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("updated_at_ms", Ms, nullable=False),
    sa.Column("actor", sa.Text, nullable=False),
    sa.Column("setting", sa.Text, nullable=False),
    sa.Column("document", Json, nullable=False),
    sa.Column("rollback_of_revision", sa.Integer),
)

tool_switches = sa.Table(
    "tool_switches",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("enabled", sa.Boolean, nullable=False),
)
