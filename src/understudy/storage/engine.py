"""Opening the database."""

import sqlalchemy as sa

from understudy.storage.postgres import PostgresDialect, open_postgres
from understudy.storage.sqlite import SqliteDialect, open_sqlite

Dialect = SqliteDialect | PostgresDialect


def open_engine(url: str) -> sa.Engine:
    """An engine for a `sqlite:///…` or `postgresql://…` URL."""
    return open_sqlite(url) if url.startswith("sqlite") else open_postgres(url)


def dialect_of(engine: sa.Engine) -> Dialect:
    """The ways of this engine's database."""
    return SqliteDialect() if engine.dialect.name == "sqlite" else PostgresDialect()
