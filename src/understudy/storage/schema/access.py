"""Tables of tokens, signing keys, audit, receipts, responses and runtime settings."""

import sqlalchemy as sa

from understudy.access.signing_keys import KeyKind
from understudy.core.audit import AuditOutcome
from understudy.core.principal import Role
from understudy.storage.rows import Json, Ms, RowNumber
from understudy.storage.schema.metadata import metadata, one_of, some_of

# Literal SQL: a database uses a partial index only if the query repeats its condition.
REFUSED = sa.text("outcome = 'refused'")
UNSEALED = sa.text("place IS NULL AND content_digest IS NOT NULL")

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
    sa.Index("ix_tokens_newest", "created_at_ms", "token_id"),
)

# Public keys only: the private ones are files of the daemon that made them.
signing_keys = sa.Table(
    "signing_keys",
    metadata,
    sa.Column("key_id", sa.Text, primary_key=True),
    sa.Column("name", sa.Text, nullable=False, unique=True),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("public_key", sa.Text, nullable=False),
    sa.Column("created_by", sa.Text, nullable=False),
    sa.Column("created_at_ms", Ms, nullable=False),
    one_of("kind", KeyKind),
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
    # Position in the digest chain; null until the row is sealed, and in rows from before the chain.
    sa.Column("place", sa.BigInteger, index=True),
    sa.Column("content_digest", sa.Text),
    sa.Column("link", sa.Text),
    # The text was erased; the digest is that of the original.
    sa.Column("erased_at_ms", Ms),
    one_of("outcome", AuditOutcome),
    some_of("ix_audit_refused", "number", where=REFUSED),
    some_of("ix_audit_unsealed", "number", where=UNSEALED),
    sqlite_autoincrement=True,
)

# Changes that wait for a second approval.
second_approvals = sa.Table(
    "second_approvals",
    metadata,
    sa.Column("approval_id", sa.Text, primary_key=True),
    sa.Column("subject", sa.Text, nullable=False),
    sa.Column("operation", sa.Text, nullable=False),
    sa.Column("values", Json, nullable=False),
    sa.Column("body", Json),
    sa.Column("proposed_by", sa.Text),
    sa.Column("first_by", sa.Text, nullable=False),
    sa.Column("created_at_ms", Ms, nullable=False),
    sa.Column("expires_at_ms", Ms, nullable=False),
    sa.Column("fingerprint", sa.Text, nullable=False, unique=True),
)

# The head of each digest chain, and where retention has cut it.
chains = sa.Table(
    "chains",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("place", sa.BigInteger, nullable=False),
    sa.Column("link", sa.Text, nullable=False),
    sa.Column("base_place", sa.BigInteger, nullable=False),
    sa.Column("base_link", sa.Text, nullable=False),
    sa.Column("unchained", sa.BigInteger, nullable=False),
)

# Responses stored under idempotency keys of all other requests; a null status means in flight.
responses = sa.Table(
    "responses",
    metadata,
    sa.Column("key_hash", sa.Text, primary_key=True),
    sa.Column("fingerprint", sa.Text, nullable=False),
    sa.Column("status", sa.Integer),
    sa.Column("body", Json),
    sa.Column("created_at_ms", Ms, nullable=False, index=True),
    # The daemon that carries the request out.
    sa.Column("holder", sa.Text),
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

# The daemons on PostgreSQL that others look after, by the names of their locks.
daemons = sa.Table("daemons", metadata, sa.Column("executor_id", sa.Text, primary_key=True))
