"""The entries of the index of terms, the same on both databases.

Which entry holds which token is beyond what tables share: `term_tokens` is made by its migration, a
full-text table on SQLite and a table with a GIN index on PostgreSQL.
"""

import sqlalchemy as sa

from understudy.storage.columns import Json, Ms, RowNumber
from understudy.storage.schema.metadata import metadata

term_entries = sa.Table(
    "term_entries",
    metadata,
    sa.Column("number", RowNumber, primary_key=True, autoincrement=True),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("source_id", sa.Text, nullable=False),
    sa.Column("at_ms", Ms, nullable=False),
    sa.Column("length", sa.Integer, nullable=False),
    sa.Column("scopes", Json, nullable=False),
    # What it is found by, where that must be known to take it out; else empty.
    sa.Column("tokens", sa.LargeBinary, nullable=False),
    sa.UniqueConstraint("kind", "source_id"),
    sa.Index("ix_term_entries_length", "kind", "length"),
    # A number is never used again: what the full-text table may still say of it would be wrong.
    sqlite_autoincrement=True,
)

# What is read of an entry that was found.
FOUND = tuple(term_entries.c[name] for name in ("source_id", "at_ms", "scopes"))
