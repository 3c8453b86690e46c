"""The queue entry of a run in two statements that are built once; DBOS builds its own for every run.

Table, columns and what happens when an entry exists already, nothing, are those of DBOS.
"""

from collections.abc import Mapping
from typing import Any, Final

import sqlalchemy as sa
from dbos import EnqueueOptions
from dbos._enqueue_options import build_enqueue_status
from dbos._schemas.system_database import SystemSchema
from dbos._serialization import Serializer
from dbos._utils import generate_uuid
from sqlalchemy.dialects import postgresql, sqlite

from understudy.engine.claim import COLUMNS

_KEY: Final = ("workflow_uuid",)
# The inputs are in a table of their own; the database fills in the times.
_ELSEWHERE: Final = frozenset({"inputs", "created_at", "updated_at"})
_ENTRY: Final = SystemSchema.workflow_status
_GIVEN: Final = SystemSchema.workflow_input


def _of_sqlite(table: sa.Table) -> sa.Insert:
    # No schema, which the types of `to_metadata` do not allow for.
    schema: Any = None
    ours = table.to_metadata(sa.MetaData(), schema=schema)
    return sqlite.insert(ours).on_conflict_do_nothing(_KEY).inline()


def _of_postgresql(table: sa.Table) -> sa.Insert:
    ours = table.to_metadata(sa.MetaData(), schema="dbos")
    return postgresql.insert(ours).on_conflict_do_nothing(index_elements=_KEY).inline()


_INSERTS: Final[Mapping[str, tuple[sa.Insert, sa.Insert]]] = {
    "sqlite": (_of_sqlite(_ENTRY), _of_sqlite(_GIVEN)),
    "postgresql": (_of_postgresql(_ENTRY), _of_postgresql(_GIVEN)),
}


def enter(
    connection: sa.Connection,
    options: EnqueueOptions,
    serializer: Serializer,
    *arguments: object,
    application: str,
) -> None:
    """Queue work within the caller's transaction, unless it is queued already."""
    work_id, status = build_enqueue_status(options, serializer, arguments, {})
    values = {
        COLUMNS.get(name, name): value for name, value in status.items() if name not in _ELSEWHERE
    }
    entry, given = _INSERTS[connection.dialect.name]
    connection.execute(
        entry,
        {
            **values,
            "application_name": application,
            "creator_xid": generate_uuid(),
            "recovery_attempts": 0,
        },
    )
    connection.execute(given, {"workflow_uuid": work_id, "inputs": status["inputs"]})
