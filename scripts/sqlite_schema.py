"""What all migrations make of an empty SQLite file, as SQL in their order."""

from pathlib import Path
from tempfile import TemporaryDirectory

from alembic import command

from understudy.storage.engine import open_engine
from understudy.storage.migrate import VERSION_TABLE, alembic_config

# SQLite makes the tables within a virtual table, and its own ones, by itself.
WRITTEN = """
    SELECT sql FROM sqlite_schema
    WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite!_%' ESCAPE '!'
        AND name NOT IN (SELECT name FROM pragma_table_list WHERE type = 'shadow')
    ORDER BY rowid
"""


def sqlite_schema() -> str:
    """The statements of the schema, and those that store its versions."""
    with TemporaryDirectory() as folder:
        url = f"sqlite:///{Path(folder) / 'new.db'}"
        engine = open_engine(url)
        with engine.connect() as connection:
            command.upgrade(alembic_config(connection), "head")
            connection.commit()
        with engine.connect() as connection:
            statements = [*connection.exec_driver_sql(WRITTEN).scalars()]
            version = connection.exec_driver_sql(
                f"SELECT version_num FROM {VERSION_TABLE}"
            ).scalar()
            statements.append(f"INSERT INTO {VERSION_TABLE} VALUES ({version!r})")
        engine.dispose()
    lines = [line.rstrip() for each in statements for line in f"{each};".splitlines()]
    return "\n".join(["-- Written by scripts/reference.", *lines, ""])
