"""Shared by all tables: constraint names, enums as CHECK constraints, partial indexes."""

from enum import StrEnum
from typing import Any

import sqlalchemy as sa

metadata = sa.MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)


def one_of(column: str, values: type[StrEnum]) -> sa.CheckConstraint:
    """A CHECK constraint: the column holds a value of the enum."""
    listed = ", ".join(f"'{value}'" for value in values)
    return sa.CheckConstraint(f"{column} IN ({listed})", name=column)


def some_of(name: str, *columns: str, where: sa.TextClause, **options: Any) -> sa.Index:
    """A partial index."""
    return sa.Index(name, *columns, sqlite_where=where, postgresql_where=where, **options)
