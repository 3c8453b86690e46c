"""What a worker does with runs that have ended: it learns from them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

import structlog

from understudy.core.clock import Clock
from understudy.learnings.capture_settings import CaptureSettings
from understudy.learnings.capturing import Capturing
from understudy.learnings.model import Job
from understudy.learnings.queue_worker import code_of
from understudy.learnings.receipts import TOPIC
from understudy.memory.retention import PENDING_KEPT_MS

if TYPE_CHECKING:
    from understudy.storage.job_queue import JobQueue
    from understudy.storage.unit import Unit, Units

log = structlog.get_logger()

# After the first failure, the second, and so on; the last is waited again and again.
WAITS_MS: Final = (1_000, 4_000, 15_000, 60_000, 300_000, 900_000, 3_600_000)
# A run that waited while capture was off is old, and still gets its tries.
LEAST_ATTEMPTS: Final = len(WAITS_MS)
# The model is there and cannot do it: more tries would only cost.
SURE_TO_FAIL: Final = frozenset({"model_answer_unusable", "provider_rejected"})
SURE_ATTEMPTS: Final = 3
# A policy that turns capture on is noticed only by looking.
LOOK_S: Final = 2.0
REPLAYED_AT_ONCE: Final = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptureDuty:
    """Learns from runs; one that fails is tried again for about a day."""

    units: "Units"
    clock: Clock
    capturing: Capturing
    settings: Callable[["Unit"], CaptureSettings]

    name: ClassVar[str] = "capture"
    id_name: ClassVar[str] = "run_id"
    topic: ClassVar[str] = TOPIC
    waits_ms: ClassVar[Sequence[int]] = WAITS_MS

    def queue(self, unit: "Unit") -> "JobQueue":
        """The runs that wait."""
        return unit.capture_queue

    def is_on(self, unit: "Unit") -> bool:
        """Whether runs are learned from; while they are not, they wait."""
        return self.settings(unit).semantic_candidates.enabled

    def startup(self) -> int:
        """Queue the runs that still wait to be learned from and that nobody has queued."""
        with self.units.read() as unit:
            waiting = unit.run_memory_index.waiting(limit=REPLAYED_AT_ONCE)
        if not waiting:
            return 0
        with self.units.write() as unit:
            put = unit.capture_queue.put_missing(waiting, due_at_ms=self.clock.now_ms())
        log.info("capture.replayed", waiting=len(waiting), queued=put)
        return put

    async def do(self, job: Job) -> None:
        """Learn from one run."""
        await self.capturing.capture(job)

    def is_hopeless(self, unit: "Unit", job: Job, problem: Exception) -> bool:
        """Whether the run is gone, too old, or beyond what the model can do."""
        pointer = unit.run_memory_index.get(job.job_id)
        tried = job.attempts + 1
        if pointer is None:
            return True
        if code_of(problem) in SURE_TO_FAIL:
            return tried >= SURE_ATTEMPTS
        waited_ms = self.clock.now_ms() - pointer.recorded_at_ms
        return tried >= LEAST_ATTEMPTS and waited_ms > PENDING_KEPT_MS

    def give_up(self, unit: "Unit", job: Job, problem: Exception) -> None:
        """Settle a run as it is, with nothing learned from it."""
        log.error("capture.given_up", run_id=job.job_id, reason=code_of(problem))
        self.capturing.give_up(unit, job)
