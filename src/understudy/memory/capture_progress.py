"""Noting how far learning from a run has come, in the index and in the record."""

from dataclasses import replace
from typing import TYPE_CHECKING

import structlog

from understudy.core.errors import Unavailable, coded_error
from understudy.memory.record import RECEIPT, SemanticCapture

if TYPE_CHECKING:
    from understudy.storage.unit import Unit

log = structlog.get_logger()


def settle(unit: "Unit", run_id: str, receipt: SemanticCapture) -> None:
    """Change the receipt of a run; `NotFound` when its memory is gone."""
    index = unit.run_memory_index
    index.hold()
    pointer = index.get(run_id)
    if pointer is None:
        raise coded_error("run_memories/run_memory_not_found", run_id=run_id)
    RECEIPT.check(pointer.semantic_capture, receipt)
    if receipt is not pointer.semantic_capture:
        index.settle(run_id, receipt, stamp=_rewrite(unit, run_id, receipt))


def _rewrite(unit: "Unit", run_id: str, receipt: SemanticCapture) -> str | None:
    """The stamp of the record once it says so too; None where it cannot be written now."""
    try:
        record = unit.run_memories.get(run_id)
        if record is None:
            return None
        return unit.run_memories.put(replace(record, semantic_capture=receipt))
    except Unavailable as problem:
        log.warning("run_memory.receipt_not_written", run_id=run_id, reason=problem.detail)
        return None
