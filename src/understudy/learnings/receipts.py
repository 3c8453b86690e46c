"""Whether something is to be learned from a run that ends, and who is to see to it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from understudy.core.clock import Clock
from understudy.learnings.capture_settings import CaptureSettings
from understudy.memory.record import RunMemoryRecord, SemanticCapture
from understudy.runs.model import Run

if TYPE_CHECKING:
    from understudy.storage.unit import Unit

# What wakes the worker that learns from runs.
TOPIC: Final = "captures"


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptureReceipts:
    """Writes receipts, and has the runs of pending ones captured."""

    clock: Clock
    settings: Callable[["Unit"], CaptureSettings]
    # Wakes whoever captures.
    capture: Callable[[], None] = lambda: None

    def receipt_for(self, unit: "Unit") -> SemanticCapture:
        """Pending while semantic capture is on; what ends while it is off stays skipped."""
        is_on = self.settings(unit).semantic_candidates.enabled
        return SemanticCapture.PENDING if is_on else SemanticCapture.SKIPPED

    def kept(self, unit: "Unit", _: Run, record: RunMemoryRecord) -> None:
        """Queue a run whose record is kept in this transaction."""
        if record.semantic_capture is SemanticCapture.PENDING:
            unit.capture_queue.put_missing([record.run_id], due_at_ms=self.clock.now_ms())
            unit.after_commit(self.capture)
