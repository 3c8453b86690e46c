"""How runs made sessions below their own, and what sessions still have to be told."""

import sqlalchemy as sa

from understudy.runs.signals import SignalKind
from understudy.storage.columns import Json, Ms, RowNumber
from understudy.storage.schema.metadata import metadata, one_of

sidechains = sa.Table(
    "sidechains",
    metadata,
    sa.Column("session_id", sa.Text, sa.ForeignKey("sessions.session_id"), primary_key=True),
    # No foreign key: it would lock the parent's run behind its session, against the usual order.
    sa.Column("run_id", sa.Text, nullable=False, index=True),
    sa.Column("first_run_id", sa.Text, nullable=False),
    sa.Column("label", Json),
    sa.Column("created_at_ms", Ms, nullable=False),
)

signals = sa.Table(
    "signals",
    metadata,
    sa.Column("number", RowNumber, primary_key=True, autoincrement=True),
    sa.Column("kind", sa.Text, nullable=False),
    # A session or a run, by its kind.
    sa.Column("target", sa.Text, nullable=False),
    sa.Column("created_at_ms", Ms, nullable=False),
    # Not before then; null: at once.
    sa.Column("due_at_ms", Ms),
    one_of("kind", SignalKind),
    sqlite_autoincrement=True,
)
