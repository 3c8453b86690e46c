"""the schema of 0.1.0, frozen as SQL.

It has the number of the last of the steps that 0.1.0 was developed in, so that a database that
took all of them is up to date. Indexes keep the order in which those steps made them: between two
that cost the same, SQLite takes the newer one.
"""

import re
from pathlib import Path

from alembic import op

revision = "0019"
down_revision = None
branch_labels = None
depends_on = None

# SQLite's spelling of PostgreSQL types; SQLite compares text bytewise anyway.
SQLITE = {
    r"BIGSERIAL NOT NULL CONSTRAINT \w+ PRIMARY KEY": "INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT",
    "BIGSERIAL": "INTEGER",
    "BYTEA": "BLOB",
    ' COLLATE "C"': "",
    "DEFAULT false": "DEFAULT 0",
}
# The inverted index of terms; see `storage/term_postings`.
POSTINGS = {
    "sqlite": """
        CREATE VIRTUAL TABLE term_tokens
            USING fts5(tokens, content='', columnsize=0, detail=none, tokenize='ascii');
        CREATE VIRTUAL TABLE term_vocabulary USING fts5vocab(term_tokens, row);
    """,
    # Every query reads the pending list of a GIN index, so the list is kept short.
    "postgresql": """
        CREATE TABLE term_tokens (
            number bigint PRIMARY KEY REFERENCES term_entries (number) ON DELETE CASCADE,
            tokens bigint[] NOT NULL
        );
        CREATE INDEX ix_term_tokens_tokens
            ON term_tokens USING gin (tokens) WITH (gin_pending_list_limit = 512);
    """,
}


def upgrade() -> None:
    connection = op.get_bind()
    dialect = connection.dialect.name
    tables = Path(__file__).with_suffix(".sql").read_text(encoding="utf-8")
    if dialect == "sqlite":
        for spelling, own in SQLITE.items():
            tables = re.sub(spelling, own, tables)
    for statement in (tables + POSTINGS[dialect]).split(";\n"):
        if statement.strip():
            connection.exec_driver_sql(statement)
