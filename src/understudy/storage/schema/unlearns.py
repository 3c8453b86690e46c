"""Unlearnings, the queue of their work, and the key of the digests in their receipts."""

import sqlalchemy as sa

from understudy.storage.rows import Json, Ms
from understudy.storage.schema.learnings import queue
from understudy.storage.schema.metadata import metadata, one_of
from understudy.unlearn.model import UnlearnMode, UnlearnStatus

unlearns = sa.Table(
    "unlearns",
    metadata,
    sa.Column("unlearn_id", sa.Text, primary_key=True),
    sa.Column("mode", sa.Text, nullable=False),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("step", sa.Text, nullable=False),
    sa.Column("actor", sa.Text, nullable=False),
    sa.Column("created_at_ms", Ms, nullable=False),
    sa.Column("updated_at_ms", Ms, nullable=False),
    sa.Column("target", Json, nullable=False),
    sa.Column("reason", Json),
    sa.Column("error", sa.Text),
    sa.Column("receipt", Json),
    # Ids and texts that the steps pass on; null once the receipt is written.
    sa.Column("work", Json),
    one_of("mode", UnlearnMode),
    one_of("status", UnlearnStatus),
)

unlearn_jobs = queue("unlearn_jobs")

# At most one row: the key of the digests in receipts.
unlearn_key = sa.Table(
    "unlearn_key",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("secret", sa.Text, nullable=False),
    sa.Column("created_at_ms", Ms, nullable=False),
)
