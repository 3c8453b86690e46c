"""The parts of the learning plane, given what they work with."""

from collections.abc import Callable
from functools import partial
from typing import Final

from understudy.daemon.ground import Ground
from understudy.daemon.learning_status import LearningStatusReport
from understudy.learnings.bulk import BulkService
from understudy.learnings.candidates import CandidateService
from understudy.learnings.capture import LOOK_S as CAPTURE_LOOK_S
from understudy.learnings.capture import TOPIC as CAPTURES
from understudy.learnings.capture import CaptureDuty, CaptureReceipts, RunSummaries
from understudy.learnings.decisions import keep_expiring
from understudy.learnings.events import LearningCounters, LinkedHook, Listeners
from understudy.learnings.extraction import Extractor
from understudy.learnings.guard import SecretGuard
from understudy.learnings.service import LearningService
from understudy.memory.report import PromptCounters
from understudy.memory.texts import Cleaner
from understudy.providers.structured import StructuredModel
from understudy.review.judge import Judge
from understudy.review.policy import capture_in
from understudy.review.reviewer import Reviewer
from understudy.review.service import LearningPolicyService
from understudy.review.worker import TOPIC as REVIEWS
from understudy.review.worker import ReviewDuty
from understudy.runtime.service import RuntimeService
from understudy.telemetry.metrics import Metrics
from understudy.work.queue_worker import LOOK_S, QueueWorker

# Where a daemon is alone, its own bell tells it of everything.
LOOK_ALONE_S: Final = 30.0


class LearningPlane:
    """One of each."""

    def __init__(
        self,
        ground: Ground,
        runtime: RuntimeService,
        default_route: Callable[[], str],
        linked: tuple[LinkedHook, ...] = (),
    ) -> None:
        self._ground = ground
        self._default_route = default_route
        units, clock = ground.units, ground.clock
        self.counters = LearningCounters()
        self.prompts = PromptCounters()
        self.listeners = Listeners(
            linked=linked, observer=self.counters, review=partial(ground.bell.ring, REVIEWS)
        )
        self.guard = SecretGuard(ground.settings.secrets)
        self.candidates = CandidateService(units, clock, self.listeners, self.guard)
        self.bulk_decisions = BulkService(self.candidates)
        self.learnings = LearningService(units, clock, self.listeners, guard=self.guard)
        self.policy = LearningPolicyService(
            units=units,
            clock=clock,
            runtime=runtime,
            route_exists=ground.route_exists,
            guard=self.guard,
        )
        self.receipts = CaptureReceipts(
            clock=clock, settings=capture_in, capture=partial(ground.bell.ring, CAPTURES)
        )
        self.summaries = RunSummaries(clock=clock, settings=capture_in, listeners=self.listeners)
        self.status = LearningStatusReport(units, self.counters.snapshot)

    async def keep_expiring(self, *, every_s: float) -> None:
        """Close the candidates whose time is over, for ever."""
        await keep_expiring(self._ground.units, self._ground.clock, every_s=every_s)

    def review_worker(self, observer: Metrics) -> QueueWorker:
        """Reviews candidates as the policy says."""
        ground = self._ground
        judge = Judge(
            model=self.model(observer),
            clock=ground.clock,
            cleaner=Cleaner(literals=ground.settings.secrets, pii=False),
        )
        reviewer = Reviewer(
            units=ground.units,
            clock=ground.clock,
            judge=judge,
            listeners=self.listeners,
            guard=self.guard,
        )
        return QueueWorker(
            units=ground.units,
            clock=ground.clock,
            bell=ground.bell,
            duty=ReviewDuty(units=ground.units, clock=ground.clock, reviewer=reviewer),
            look_s=LOOK_ALONE_S if ground.settings.is_sqlite else LOOK_S,
        )

    def capture_worker(self, observer: Metrics) -> QueueWorker:
        """Proposes what runs said."""
        ground = self._ground
        return QueueWorker(
            units=ground.units,
            clock=ground.clock,
            bell=ground.bell,
            duty=CaptureDuty(
                units=ground.units,
                clock=ground.clock,
                extractor=Extractor(self.model(observer)),
                settings=capture_in,
                listeners=self.listeners,
            ),
            look_s=CAPTURE_LOOK_S,
        )

    def model(self, observer: Metrics) -> StructuredModel:
        """One for each use, so that none of them waits for another."""
        return StructuredModel(self._ground.routes, self._default_route, observer=observer)
