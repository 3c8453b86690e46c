"""Automatic review as a daemon puts it together, worked off by the test instead of by the loop."""

import json
from dataclasses import dataclass, field, replace
from typing import Any

from tests.support.factories import ADMIN, NOW, make_run
from tests.support.learning_harness import LearningHarness
from tests.support.review_factories import found
from tests.support.run_memory_harness import make_record
from understudy.core.bell import Bell
from understudy.core.principal import DAEMON
from understudy.learnings.events import LearningCounters, Listeners
from understudy.learnings.model import AutomationReview, Candidate, Learning, ReviewAction
from understudy.learnings.proposal import propose
from understudy.memory.record import RunEvidence
from understudy.memory.texts import Cleaner
from understudy.providers.registry import Routes
from understudy.providers.structured import StructuredModel
from understudy.review.judge import Judge
from understudy.review.policy import LearningPolicy
from understudy.review.reviewer import Reviewer
from understudy.review.service import LearningPolicyService, policy_hook
from understudy.review.worker import TOPIC, ReviewDuty
from understudy.runs.model import RunStatus
from understudy.runtime.service import Revision, RuntimeService
from understudy.storage.unit import Units
from understudy.testing.answers import Answer
from understudy.testing.clock import FrozenClock
from understudy.work.queue_worker import Job, QueueWorker


class Counted(LearningCounters):
    """What an observer was told of reviews."""

    def __init__(self) -> None:
        super().__init__()
        self.reviewed: list[ReviewAction] = []
        self.judge_failures = 0

    def count(self, name: str, label: str = "") -> None:
        super().count(name, label)
        if name == "reviews_total":
            self.reviewed.append(ReviewAction(label))
        self.judge_failures += name == "judge_failures_total"


@dataclass
class ReviewHarness:
    """One daemon's worth of reviewing, on a database that may be shared with others."""

    units: Units
    routes: Routes
    clock: FrozenClock = field(default_factory=lambda: FrozenClock(NOW))
    counted: Counted = field(default_factory=Counted)
    bell: Bell = field(default_factory=Bell)

    def __post_init__(self) -> None:
        self.plane = LearningHarness(self.units, self.clock)
        runtime: RuntimeService = RuntimeService(
            self.units, self.clock, (policy_hook(self.clock, self._ring),)
        )
        self.policies = LearningPolicyService(
            units=self.units,
            clock=self.clock,
            runtime=runtime,
            route_exists=lambda route_id: route_id in ("a", "b"),
        )
        judge = Judge(
            model=StructuredModel(self.routes, lambda: "a"),
            clock=self.clock,
            cleaner=Cleaner(pii=False),
        )
        self.listeners = Listeners(observer=self.counted, review=self._ring)
        self.reviewer = Reviewer(
            units=self.units, clock=self.clock, judge=judge, listeners=self.listeners
        )
        self.worker = self.worker_for(self.reviewer)

    def worker_for(self, reviewer: Reviewer) -> QueueWorker:
        """A worker that has candidates reviewed, and waits no shorter than it may."""
        duty = ReviewDuty(units=self.units, clock=self.clock, reviewer=reviewer)
        return QueueWorker(
            units=self.units, clock=self.clock, bell=self.bell, duty=duty, jitter=lambda: 1.0
        )

    def _ring(self) -> None:
        self.bell.ring(TOPIC)

    def restarted(self) -> "ReviewHarness":
        """Another daemon on the same database."""
        again = ReviewHarness(self.units, self.routes, self.clock)
        again.worker.startup()
        return again

    def set_policy(self, *rules: dict[str, Any], **fields: Any) -> tuple[LearningPolicy, Revision]:
        """A policy with these rules, enabled unless told otherwise."""
        publication = {"rules": list(rules), **fields.pop("publication", {})}
        document = {"mode": "enabled", "publication": publication, **fields}
        return self.policies.set_policy(ADMIN, document)

    def find(self, content: str, **fields: Any) -> Candidate:
        """A candidate as the daemon finds it in a run."""
        candidate = found(content, **fields)
        with self.units.write() as unit:
            now = self.clock.now_ms()
            assert propose(unit, candidate, by=DAEMON, now_ms=now, listeners=self.listeners)
        return candidate

    def remember(
        self, request: str, outcome: str = "OK", run_id: str = "run_1", **fields: Any
    ) -> None:
        """What a run left behind."""
        record = make_record(run_id, session_id="s1", recorded_at_ms=self.clock.now_ms())
        with self.units.write() as unit:
            run = unit.runs.get(run_id)
            if run is None:
                unit.runs.add(make_run(run_id=run_id, status=RunStatus.COMPLETED, **fields))
            else:
                now = self.clock.now_ms()
                unit.runs.update(replace(run, status=RunStatus.COMPLETED, finished_at_ms=now))
            stamp = unit.run_memories.put(record)
            unit.run_memory_index.add(record, stamp=stamp)
            kept = RunEvidence(run_id=run_id, request=request, outcome=outcome)
            unit.run_memory_index.keep_evidence(kept)

    async def work(self) -> int:
        """Review everything that is due; tells how many reviews that were."""
        done = 0
        while jobs := self.claimed(100):
            for job in jobs:
                await self.worker.work(job)
            done += len(jobs)
        return done

    def claimed(self, limit: int = 1) -> tuple[Job, ...]:
        """What is due, claimed as if its lane was known already."""
        return tuple(replace(job, may_ask=True) for job in self.worker.claim(limit).items)

    async def review(self, candidate: Candidate) -> Candidate:
        """A candidate as it stands once all that is due was reviewed."""
        await self.work()
        return self.plane.candidate(candidate)

    def learning_of(self, candidate: Candidate) -> Learning:
        """What a candidate became."""
        learning_id = self.plane.candidate(candidate).published_learning_id
        assert learning_id is not None
        return self.plane.learnings.get(learning_id)

    def review_of(self, candidate: Candidate) -> AutomationReview:
        """What automation made of a candidate."""
        review = self.plane.candidate(candidate).automation_review
        assert review is not None
        return review


def judging(**fields: Any) -> dict[str, Any]:
    """The judge's part of a policy."""
    return {"judge": {"enabled": True, **fields}}


def verdict(action: str, reason: str = "because") -> Answer:
    """What the judge answers."""
    return Answer(text=json.dumps({"action": action, "reason": reason}))
