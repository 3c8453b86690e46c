"""A database of commit 41f7bf00, once it is upgraded: the schema of a new one, and all its rows.

`tests/e2e/homes` has what that commit wrote: on PostgreSQL as a script of `pg_dump --inserts` without
its settings, on SQLite in two homes. The one with answers has been upgraded before; the other was
made by that commit.
"""

import json
import lzma
import tarfile
from collections.abc import Iterable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import psycopg
import pytest
import sqlalchemy as sa

from tests.support.postgres import MakeDatabase
from understudy.learnings.keys import KEY_RULES, key_of
from understudy.storage.chains import Chains
from understudy.storage.engine import dialect_of, open_engine
from understudy.storage.learning_rows import digest_of
from understudy.storage.migrate import VERSION_TABLE, migrate
from understudy.storage.rows import search_text
from understudy.storage.schema import (
    asset_owners,
    assets,
    learning_candidates,
    learnings,
    metadata,
    projects,
)
from understudy.storage.stored_keys import renew_keys
from understudy.storage.visible_connection import VisibleConnection

HOMES = Path(__file__).parents[1] / "e2e" / "homes"
OLD: Final = ("41f7bf00.tar.xz", "41f7bf00-answers.tar.xz", "41f7bf00-postgresql.sql.xz")
# FTS5 keeps no text that could be read.
UNREADABLE: Final = {"term_tokens"}

Columns = dict[str, list[str]]


def unpacked(name: str, folder: Path, make_database: MakeDatabase) -> sa.Engine:
    """The stored database, on its own kind of server."""
    if name.endswith(".tar.xz"):
        with tarfile.open(HOMES / name) as archive:
            archive.extract("home/understudy.db", folder, filter="data")
        return open_engine(f"sqlite:///{folder / 'home' / 'understudy.db'}")
    url = make_database()
    with psycopg.connect(url) as connection:
        connection.execute(lzma.decompress((HOMES / name).read_bytes()))
    return open_engine(url)


@pytest.fixture(params=OLD)
def old(
    request: pytest.FixtureRequest, tmp_path: Path, make_database: MakeDatabase
) -> Iterator[sa.Engine]:
    engine = unpacked(request.param, tmp_path, make_database)
    yield engine
    engine.dispose()


@pytest.fixture
def new(old: sa.Engine, tmp_path: Path, make_database: MakeDatabase) -> Iterator[sa.Engine]:
    """A new database of the same kind."""
    is_sqlite = old.dialect.name == "sqlite"
    engine = open_engine(f"sqlite:///{tmp_path / 'new.db'}" if is_sqlite else make_database())
    migrate(engine)
    yield engine
    engine.dispose()


def schema(engine: sa.Engine) -> dict[str, Any]:
    """All that the database tells about each of our tables, in the order of the names."""
    inspector = sa.inspect(engine)
    return {
        table: {
            "columns": by_name(
                {**it, "type": repr(it["type"])} for it in inspector.get_columns(table)
            ),
            "primary key": inspector.get_pk_constraint(table),
            "foreign keys": by_name(inspector.get_foreign_keys(table)),
            "unique": by_name(inspector.get_unique_constraints(table)),
            "checks": by_name(inspector.get_check_constraints(table)),
            "indexes": indexes(engine, table),
        }
        for table in sorted({*metadata.tables, VERSION_TABLE, "term_tokens"})
    }


def by_name(found: Iterable[Any]) -> list[Any]:
    return sorted(found, key=lambda each: each["name"])


def indexes(engine: sa.Engine, table: str) -> list[str]:
    """As SQL without spaces."""
    if engine.dialect.name == "sqlite":
        made = "SELECT sql FROM sqlite_schema WHERE type = 'index' AND tbl_name = :table"
    else:
        made = "SELECT indexdef FROM pg_indexes WHERE tablename = :table"
    with engine.connect() as connection:
        found = connection.execute(sa.text(made), {"table": table}).scalars()
        return sorted("".join(text.split()) for text in found if text)


def columns_of(engine: sa.Engine) -> Columns:
    inspector = sa.inspect(engine)
    tables = {*inspector.get_table_names()} - {VERSION_TABLE}
    if engine.dialect.name == "sqlite":
        tables -= UNREADABLE
    return {table: [it["name"] for it in inspector.get_columns(table)] for table in tables}


def rows_of(engine: sa.Engine, columns: Columns) -> dict[str, tuple[int, str]]:
    """How many rows each table has, and the digest of what they have in these columns."""
    found = {}
    with engine.connect() as connection:
        for table, names in columns.items():
            query = sa.select(sa.table(table, *(sa.column(name) for name in names)))
            rows = sorted(repr(tuple(row)) for row in connection.execute(query))
            found[table] = len(rows), sha256("\n".join(rows).encode()).hexdigest()
    return found


def test_its_schema_is_that_of_a_new_database(old: sa.Engine, new: sa.Engine) -> None:
    migrate(old)

    assert schema(old) == schema(new)


def test_every_row_is_as_it_was(old: sa.Engine) -> None:
    columns = columns_of(old)
    before = rows_of(old, columns)

    migrate(old)

    assert rows_of(old, columns) == before
    assert before["journal"][0] > 0
    with old.connect() as connection:
        owned = sa.select(asset_owners.c.file_name, assets.c.file_name).join(assets)
        assert all(own == first for own, first in connection.execute(owned))


def test_an_upgrade_that_fails_leaves_it_as_it_was(old: sa.Engine) -> None:
    # A migration makes a table of this name.
    with old.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE daemons (name TEXT)")
    columns = columns_of(old)

    with pytest.raises(sa.exc.DBAPIError, match="daemons"):
        migrate(old)

    assert columns_of(old) == columns
    with old.connect() as connection:
        assert connection.exec_driver_sql(f"SELECT * FROM {VERSION_TABLE}").scalar() == "0048"


def test_its_chains_hold(old: sa.Engine) -> None:
    migrate(old)

    with old.connect() as connection:
        report = Chains(VisibleConnection(connection), dialect_of(old)).verify()
    assert report.ok
    assert report.audit.checked > 0
    assert report.skill_versions.checked > 0


def test_its_keys_are_made_anew_by_the_rules_of_today(old: sa.Engine) -> None:
    migrate(old)
    dialect = dialect_of(old)

    with old.begin() as connection:
        for table in (learnings, learning_candidates):
            while renew_keys(VisibleConnection(connection), dialect, table, limit=10):
                pass
            for row in connection.execute(sa.select(table)):
                assert row.key_rules == KEY_RULES
                assert row.key_digest == digest_of(key_of(row.body["content"]).semantic)


def test_its_projects_are_found_by_their_words(old: sa.Engine) -> None:
    migrate(old)

    with old.connect() as connection:
        for row in connection.execute(sa.select(projects)):
            body = json.loads(row.body) if isinstance(row.body, str) else row.body
            texts = body["display_name"], body.get("description") or ""
            assert row.search == search_text(row.project_id, *texts)
