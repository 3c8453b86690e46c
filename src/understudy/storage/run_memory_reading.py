"""Reading one kept run memory, whatever stands in its place."""

from collections.abc import Callable
from typing import Any

import structlog

from understudy.core.errors import DamagedRecord
from understudy.memory.reading import read_record
from understudy.memory.record import RunMemoryRecord

log = structlog.get_logger()


def read_memory(run_id: str, load: Callable[[], Any]) -> RunMemoryRecord:
    """The record of a run from what is loaded, or `DamagedRecord`."""
    try:
        return _of(run_id, load())
    except Exception as problem:
        # Whatever one record does to its reader, those who read many go on with the others.
        kind = type(problem).__name__
        log.warning("run_memory.unreadable", run_id=run_id, problem=kind)
        raise DamagedRecord(
            "record_damaged",
            domain="storage",
            detail=f"the stored memory of run {run_id} cannot be read",
        ) from problem


def _of(run_id: str, stored: Any) -> RunMemoryRecord:
    record = read_record(stored)
    if record.run_id != run_id:
        raise ValueError("of another run")
    return record
