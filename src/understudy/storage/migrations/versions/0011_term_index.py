"""index of terms."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

# Which entry holds which token; see `storage/term_index_sqlite` and `storage/term_index_postgres`.
POSTINGS = {
    "sqlite": """
        CREATE VIRTUAL TABLE term_tokens
            USING fts5(tokens, content='', columnsize=0, detail=none, tokenize='ascii');
        CREATE VIRTUAL TABLE term_vocabulary USING fts5vocab(term_tokens, row)
    """,
    # Every question reads what is still pending in the index, so little may be.
    "postgresql": """
        CREATE TABLE term_tokens (
            number bigint PRIMARY KEY REFERENCES term_entries (number) ON DELETE CASCADE,
            tokens bigint[] NOT NULL
        );
        CREATE INDEX ix_term_tokens_tokens
            ON term_tokens USING gin (tokens) WITH (gin_pending_list_limit = 512)
    """,
}


def upgrade() -> None:
    op.create_table(
        "term_entries",
        sa.Column(
            "number",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            autoincrement=True,
            nullable=False,
        ),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("source_id", sa.Text(), nullable=False),
        sa.Column("at_ms", sa.BigInteger(), nullable=False),
        sa.Column("length", sa.Integer(), nullable=False),
        sa.Column("scopes", sa.Text(), nullable=False),
        sa.Column("tokens", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_term_entries")),
        sa.UniqueConstraint("kind", "source_id", name=op.f("uq_term_entries_kind_source_id")),
        sqlite_autoincrement=True,
    )
    with op.batch_alter_table("term_entries", schema=None) as batch_op:
        batch_op.create_index("ix_term_entries_length", ["kind", "length"], unique=False)
    for statement in POSTINGS[op.get_bind().dialect.name].split(";"):
        op.execute(statement)
