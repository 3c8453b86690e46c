"""What all migrations make of an empty SQLite file, as SQL in their order."""

import sqlalchemy as sa
from alembic import command

from understudy.storage.migrate import VERSION_TABLE, alembic_config

# SQLite makes the tables within a virtual table, and its own ones, by itself.
WRITTEN = """
    SELECT sql FROM sqlite_schema
    WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite!_%' ESCAPE '!'
        AND name NOT IN (SELECT name FROM pragma_table_list WHERE type = 'shadow')
    ORDER BY rowid
"""


def sqlite_schema() -> str:
    """The statements of the schema, and the one that stores its revision."""
    with sa.create_engine("sqlite://").connect() as connection:
        command.upgrade(alembic_config(connection), "head")
        revision = connection.exec_driver_sql(f"SELECT version_num FROM {VERSION_TABLE}").scalar()
        statements = connection.exec_driver_sql(WRITTEN).scalars().all()
    lines = [line.rstrip() for each in statements for line in f"{each};".splitlines()]
    stamp = f"INSERT INTO {VERSION_TABLE} VALUES ('{revision}');"
    return "\n".join(["-- Written by scripts/reference.", *lines, stamp, ""])
