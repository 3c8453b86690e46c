"""Wiring of the learning services."""

from collections.abc import Callable
from functools import partial

from understudy.daemon.learning_status import LearningStatusReport
from understudy.daemon.resources import Resources
from understudy.learnings.bulk import BulkService
from understudy.learnings.candidates import CandidateService
from understudy.learnings.capture import LOOK_S as CAPTURE_LOOK_S
from understudy.learnings.capture import TOPIC as CAPTURES
from understudy.learnings.capture import CaptureDuty, CaptureReceipts, RunSummaries
from understudy.learnings.decisions import keep_expiring
from understudy.learnings.events import LearningCounters, LinkedHook, Listeners
from understudy.learnings.extraction import Extractor
from understudy.learnings.guard import SecretGuard
from understudy.learnings.neighbours import Neighbourhood
from understudy.learnings.remember import Suggestions
from understudy.learnings.service import LearningService
from understudy.memory.report import PromptCounters
from understudy.memory.texts import Cleaner
from understudy.providers.structured import StructuredModel
from understudy.retrieval.neighbours import nearest
from understudy.review.judge import Judge
from understudy.review.policy import capture_in, conflicts_in
from understudy.review.reviewer import Reviewer
from understudy.review.service import LearningPolicyService
from understudy.review.worker import TOPIC as REVIEWS
from understudy.review.worker import ReviewDuty
from understudy.runtime.service import RuntimeService
from understudy.telemetry.metrics import Metrics
from understudy.work.queue_worker import LOOK_S, QueueWorker
from understudy.work.worker import LONGEST_DOZE_S


class LearningServices:
    """Services of learning: candidates, publication, capture, review, policies."""

    def __init__(
        self,
        resources: Resources,
        runtime: RuntimeService,
        default_route: Callable[[], str],
        linked: tuple[LinkedHook, ...] = (),
    ) -> None:
        self._resources = resources
        self._default_route = default_route
        self._capture_worker: QueueWorker | None = None
        units, clock = resources.units, resources.clock
        self.counters = LearningCounters()
        self.prompts = PromptCounters()
        self.listeners = Listeners(
            linked=linked, observer=self.counters, review=partial(resources.bell.ring, REVIEWS)
        )
        self.guard = SecretGuard(resources.settings.secrets)
        self.neighbourhood = Neighbourhood(
            units=units,
            clock=clock,
            nearest=nearest,
            model=StructuredModel(resources.routes, default_route),
            settings=conflicts_in,
        )
        self.candidates = CandidateService(
            units, clock, self.listeners, self.guard, self.neighbourhood
        )
        self.bulk_decisions = BulkService(self.candidates)
        self.learnings = LearningService(units, clock, self.listeners, guard=self.guard)
        self.policy = LearningPolicyService(
            units=units,
            clock=clock,
            runtime=runtime,
            route_exists=resources.route_exists,
            guard=self.guard,
        )
        self.receipts = CaptureReceipts(
            clock=clock,
            settings=capture_in,
            capture=partial(resources.bell.ring, CAPTURES),
            worker=lambda: self._capture_worker,
        )
        self.suggestions = Suggestions(units, clock, self.listeners, self.guard)
        self.summaries = RunSummaries(clock=clock, settings=capture_in, listeners=self.listeners)
        self.status = LearningStatusReport(units, self.counters.snapshot)

    async def keep_expiring(self, *, every_s: float) -> None:
        """Expire candidates for ever."""
        await keep_expiring(self._resources.units, self._resources.clock, every_s=every_s)

    def review_worker(self, observer: Metrics) -> QueueWorker:
        """The worker that reviews candidates by the policy."""
        resources = self._resources
        judge = Judge(
            model=self.model(observer),
            clock=resources.clock,
            cleaner=Cleaner(literals=resources.settings.secrets, pii=False),
        )
        reviewer = Reviewer(
            units=resources.units,
            clock=resources.clock,
            judge=judge,
            listeners=self.listeners,
            guard=self.guard,
            neighbourhood=self.neighbourhood,
        )
        return QueueWorker(
            units=resources.units,
            clock=resources.clock,
            bell=resources.bell,
            duty=ReviewDuty(units=resources.units, clock=resources.clock, reviewer=reviewer),
            look_s=LONGEST_DOZE_S if resources.settings.is_sqlite else LOOK_S,
            doze_s=resources.doze_s,
        )

    def capture_worker(self, observer: Metrics) -> QueueWorker:
        """The worker that captures candidates from runs."""
        resources = self._resources
        self._capture_worker = QueueWorker(
            units=resources.units,
            clock=resources.clock,
            bell=resources.bell,
            duty=CaptureDuty(
                units=resources.units,
                clock=resources.clock,
                extractor=Extractor(self.model(observer)),
                settings=capture_in,
                listeners=self.listeners,
                nearest=nearest,
            ),
            look_s=LONGEST_DOZE_S if resources.settings.is_sqlite else CAPTURE_LOOK_S,
            doze_s=resources.doze_s,
        )
        return self._capture_worker

    def model(self, observer: Metrics) -> StructuredModel:
        """A model for one use, so that no use waits for another."""
        return StructuredModel(self._resources.routes, self._default_route, observer=observer)
