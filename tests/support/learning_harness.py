"""The learning plane as a daemon puts it together, for tests of candidates and learnings."""

from dataclasses import dataclass, field
from typing import Any

from tests.support.factories import ALICE, NOW
from understudy.core.audit import AuditEntry
from understudy.core.page import PageRequest
from understudy.core.principal import Principal
from understudy.learnings.bulk import BulkService
from understudy.learnings.candidates import CandidateService
from understudy.learnings.events import LearningCounters, LearningNotice, Listeners
from understudy.learnings.model import Candidate, Kind, Learning
from understudy.learnings.proposal import NewCandidate
from understudy.learnings.publication import PublishChanges, Published
from understudy.learnings.service import LearningService, Replacement
from understudy.sessions.journal import EventKind, JournalEvent
from understudy.sessions.learning_scopes import WORKSPACE
from understudy.storage.unit import Unit, Units
from understudy.testing.clock import FrozenClock


@dataclass
class LearningHarness:
    """Candidates and learnings on the database of a test."""

    units: Units
    clock: FrozenClock = field(default_factory=lambda: FrozenClock(NOW))
    counters: LearningCounters = field(default_factory=LearningCounters)
    # How often the reviewers were woken.
    rung: list[str] = field(default_factory=list)
    # Learnings that hooks were told of before they ended.
    linked: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        listeners = Listeners(
            linked=(self._hear,),
            observer=self.counters,
            review=lambda: self.rung.append("reviews"),
        )
        self.candidates = CandidateService(self.units, self.clock, listeners)
        self.learnings = LearningService(self.units, self.clock, listeners)
        self.bulk = BulkService(self.candidates)

    def _hear(self, _unit: Unit, _by: Principal, learning: Learning) -> tuple[LearningNotice, ...]:
        self.linked.append(learning.learning_id)
        return ()

    def propose(self, content: str, **fields: Any) -> Candidate:
        """A candidate as Alice proposes it; a fact of the workspace unless told otherwise."""
        values: dict[str, Any] = {"scope": WORKSPACE, "kind": Kind.FACT, "content": content}
        return self.candidates.create(ALICE, NewCandidate(**(values | fields)))

    def publish(self, candidate: Candidate, **wanted: Any) -> Published:
        """Publish a candidate as Alice does."""
        return self.candidates.publish(ALICE, candidate.candidate_id, PublishChanges(**wanted))

    def learn(self, content: str, **fields: Any) -> Learning:
        """Propose, and publish for the scope that it was proposed for."""
        candidate = self.propose(content, **fields)
        return self.publish(candidate, scope=candidate.scope).learning

    def supersede(self, learning: Learning, content: str, **fields: Any) -> Published:
        """Replace a learning as Alice does."""
        wanted = Replacement(content=content, **fields)
        return self.learnings.supersede(ALICE, learning.learning_id, wanted)

    def candidate(self, candidate: Candidate) -> Candidate:
        """The candidate as it stands now."""
        return self.candidates.get(candidate.candidate_id)

    def learning(self, learning: Learning) -> Learning:
        """The learning as it stands now."""
        return self.learnings.get(learning.learning_id)

    def all_learnings(self) -> list[Learning]:
        """Every learning there is."""
        return list(self.learnings.page(PageRequest(limit=200)).items)

    def events(self, session_id: str) -> list[JournalEvent]:
        """What a session was told."""
        with self.units.read() as unit:
            return list(unit.journal.read(session_id=session_id, kinds=(EventKind.LEARNING,)))

    def audit(self) -> list[AuditEntry]:
        """What was written down, oldest first."""
        with self.units.read() as unit:
            found = unit.audit.page(PageRequest(limit=200), resource=None, actor=None)
        return list(reversed(found.items))

    def published(self) -> int:
        """How many publications an observer was told of."""
        return sum(self.counters.snapshot()["publications_total"].values())

    def queued(self) -> int:
        """How many candidates wait for a review."""
        with self.units.read() as unit:
            return unit.review_queue.size()
