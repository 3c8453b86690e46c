"""A run harness whose runs are learned from, with a worker that the test sets to work."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from tests.support.run_harness import RunHarness
from understudy.core.bell import Bell
from understudy.learnings.capture import CaptureDuty, CaptureReceipts, RunSummaries
from understudy.learnings.capture_settings import CaptureSettings, SemanticCaptureSettings
from understudy.learnings.extraction import Extractor
from understudy.learnings.model import Candidate, Kind
from understudy.memory.capture import Capture
from understudy.memory.record import RunCapture, SemanticCapture
from understudy.memory.service import capture_of
from understudy.providers.structured import StructuredModel
from understudy.retrieval.neighbours import nearest
from understudy.storage.unit import Unit
from understudy.work.queue_worker import Job, QueueWorker

ON = CaptureSettings()
OFF = CaptureSettings(semantic_candidates=SemanticCaptureSettings(enabled=False))


@dataclass
class LearningRuns(RunHarness):
    """A run harness that looks for facts, preferences and decisions in its runs."""

    captured: CaptureSettings = ON
    bell: Bell = field(default_factory=Bell)

    def _capture(self) -> Capture:
        receipts = CaptureReceipts(
            clock=self.clock, settings=self.capture_settings, capture=self._ring
        )
        summaries = RunSummaries(clock=self.clock, settings=self.capture_settings)
        return Capture(
            self.units,
            self.clock,
            self.keeper,
            ("hunter22",),
            receipts.receipt_for,
            (summaries.kept, receipts.kept),
        )

    def capture_settings(self, _: Unit) -> CaptureSettings:
        """What is captured now; a test may change it."""
        return self.captured

    def worker(self, *, default_route: str = "a") -> QueueWorker:
        """A worker as a daemon that has just started makes one."""
        model = StructuredModel(self.providers, lambda: default_route)
        return QueueWorker(
            units=self.units,
            clock=self.clock,
            bell=self.bell,
            duty=CaptureDuty(
                units=self.units,
                clock=self.clock,
                extractor=Extractor(model),
                settings=self.capture_settings,
                nearest=nearest,
            ),
            jitter=lambda: 1.0,
        )

    def claimed(self, worker: QueueWorker | None = None) -> tuple[Job, ...]:
        """What is due, claimed as if its lane was known already."""
        worker = worker or self.worker()
        lanes = (worker.claim(100, may_ask=may_ask).items for may_ask in (False, True))
        return tuple(replace(job, may_ask=True) for jobs in lanes for job in jobs)

    async def learn(self, worker: QueueWorker | None = None) -> int:
        """Work off what is due now; tells how many runs that were."""
        worker = worker or self.worker()
        jobs = self.claimed(worker)
        for job in jobs:
            await worker.work(job)
        return len(jobs)

    def proposed(self, *run_ids: str) -> list[Candidate]:
        """What was found in some runs, without their summaries."""
        return [it for it in self.candidates(*run_ids) if it.kind is not Kind.RUN_SUMMARY]

    def candidates(self, *run_ids: str) -> Sequence[Candidate]:
        """What the daemon proposed from some runs."""
        with self.units.read() as unit:
            return [it for run_id in run_ids for it in unit.candidates.of_run(run_id)]

    def receipt(self, run_id: str) -> SemanticCapture | None:
        """The receipt of a run, where index and record agree on it."""
        with self.units.read() as unit:
            pointer = unit.run_memory_index.get(run_id)
            record = unit.run_memories.get(run_id)
        if pointer is None or record is None:
            return None
        assert record.semantic_capture is pointer.semantic_capture
        return record.semantic_capture

    def capture_of(self, run_id: str) -> RunCapture:
        """What a reader is told about the capture of a run."""
        with self.units.read() as unit:
            pointer = unit.run_memory_index.get(run_id)
            assert pointer is not None
            return capture_of(unit, pointer)

    def waiting(self) -> int:
        """How many runs are queued, held or not."""
        with self.units.read() as unit:
            return unit.capture_queue.size()

    def _ring(self) -> None:
        self.bell.ring("captures")
