"""Run memories as rows, for daemons that share a database, and the decoder of stored records."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from typing import Any, Final

import sqlalchemy as sa
import structlog

from understudy.core.batches import batches
from understudy.core.errors import DamagedRecord, coded_error
from understudy.memory.ports import Found, RunMemoryStore
from understudy.memory.record import RunMemoryRecord, read_record, record_json
from understudy.storage.rows import upsert_of
from understudy.storage.schema import run_memory_bodies as bodies
from understudy.storage.schema import runs
from understudy.storage.visible_connection import VisibleConnection

log = structlog.get_logger()


class SqlRunMemories:
    """Records in a table, one row per run."""

    def __init__(self, connection: VisibleConnection) -> None:
        self._connection = connection

    def put(self, record: RunMemoryRecord) -> str:
        """Write a record, replacing an older one; answers its stamp."""
        body = record_json(record)
        stamp = sha256(json.dumps(body).encode()).hexdigest()[:32]
        values = {"run_id": record.run_id, "body": body, "stamp": stamp}
        self._connection.execute(_PUT[self._connection.dialect.name], values)
        return stamp

    def get(self, run_id: str) -> RunMemoryRecord | None:
        """The record of a run; None when there is none."""
        row = self._connection.execute(_BODIES, {"run_ids": [run_id]}).first()
        return None if row is None else _read(row)

    def readable(self, run_ids: Sequence[str]) -> dict[str, RunMemoryRecord]:
        """The records of these runs, without those that are missing or damaged."""
        found = {}
        for some in batches(run_ids):
            for row in self._connection.execute(_BODIES, {"run_ids": some}):
                with suppress(DamagedRecord):
                    found[row.run_id] = _read(row)
        return found

    def delete(self, run_ids: Sequence[str]) -> None:
        """Delete records; a missing one is ignored."""
        for some in batches(run_ids):
            self._connection.execute(_DELETE, {"run_ids": some})

    def is_there(self) -> bool:
        """Always true: the table exists."""
        return True

    def scan(self) -> Iterable[Found]:
        """Every row."""
        query = sa.select(bodies.c.run_id, bodies.c.stamp)
        return tuple(
            Found(path=None, run_id=run_id, stamp=stamp)
            for run_id, stamp in self._connection.execute(query)
        )

    def holds_just(self, stamps: Mapping[str, str]) -> bool:
        """Whether there are only the records of these runs, all unchanged since their stamp."""
        rows = self._connection.execute(sa.select(bodies.c.run_id, bodies.c.stamp))
        return dict(rows.all()) == stamps

    def set_aside(self, found: Found) -> None:
        """Delete a row; a rollback restores it."""
        if found.run_id is not None:
            self.delete([found.run_id])

    def put_back(self, found: Found) -> None:
        """Nothing to do: the transaction was rolled back."""

    def discard(self, found: Found) -> None:
        """Nothing to do: the transaction deleted it."""

    def left_aside(self) -> Iterable[Found]:
        """None: a crash rolls back."""
        return ()


_PUT: Final = upsert_of(bodies)
_WANTED: Final = bodies.c.run_id.in_(sa.bindparam("run_ids", expanding=True))
_BODIES: Final = sa.select(bodies.c.run_id, bodies.c.body).where(_WANTED)
_DELETE: Final = sa.delete(bodies).where(_WANTED)


def _read(row: Any) -> RunMemoryRecord:
    return read_memory(row.run_id, lambda: row.body)


def read_memory(run_id: str, load: Callable[[], Any]) -> RunMemoryRecord:
    """The record of a run from its JSON, or `DamagedRecord`."""
    try:
        return _of(run_id, load())
    except Exception as problem:
        # Any error while decoding one record means a damaged record, so that bulk reads go on.
        kind = type(problem).__name__
        log.warning("run_memory.unreadable", run_id=run_id, problem=kind)
        raise coded_error("storage/record_damaged:run_memory", run_id=run_id) from problem


def _of(run_id: str, stored: Any) -> RunMemoryRecord:
    record = read_record(stored)
    if record.run_id != run_id:
        raise ValueError("of another run")
    return record


class OwnRunMemories:
    """The run memories of runs that the caller can see: files have no owner, their runs have."""

    def __init__(self, records: RunMemoryStore, connection: VisibleConnection) -> None:
        self._records = records
        self._connection = connection

    def __getattr__(self, name: str) -> Any:
        return getattr(self._records, name)

    def get(self, run_id: str) -> RunMemoryRecord | None:
        """The record of a run."""
        return self._records.get(run_id) if self._existing([run_id]) else None

    def readable(self, run_ids: Sequence[str]) -> dict[str, RunMemoryRecord]:
        """The records of these runs."""
        return self._records.readable(self._existing(run_ids))

    def _existing(self, run_ids: Sequence[str]) -> list[str]:
        found: set[str] = set()
        for some in batches(run_ids):
            query = sa.select(runs.c.run_id).where(runs.c.run_id.in_(some))
            found.update(self._connection.execute(query).scalars())
        return [run_id for run_id in run_ids if run_id in found]
