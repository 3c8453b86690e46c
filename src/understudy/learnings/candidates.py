"""Use cases of candidates: propose, look, publish, reject."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from understudy.core.clock import Clock
from understudy.core.page import Page, PageRequest
from understudy.core.principal import Principal
from understudy.learnings.already_decided import declined, taken_back
from understudy.learnings.checks import check_reason
from understudy.learnings.conflicts import conflict_with, contradictions, duplicate_of
from understudy.learnings.decisions import by_hand, reject, require_candidate
from understudy.learnings.filters import CandidateFilter
from understudy.learnings.guard import NO_LITERALS, SecretGuard, texts_of, texts_wanted
from understudy.learnings.lifecycle import OPEN
from understudy.learnings.listeners import NO_LISTENERS, Listeners
from understudy.learnings.model import Candidate, Learning, Origin
from understudy.learnings.proposal import NewCandidate, make_candidate, propose
from understudy.learnings.publication import Published, publish
from understudy.learnings.publish_changes import Wanted
from understudy.learnings.taint import may_repeat_others

if TYPE_CHECKING:
    from understudy.storage.unit import Unit, Units


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """What a reviewer is shown; of a candidate that is decided, the candidate alone."""

    candidate: Candidate
    is_expired: bool = False
    # What has to be superseded for this to be published.
    conflict: Learning | None = None
    # What says otherwise in scopes that are seen together with this one.
    contradicts: tuple[Learning, ...] = ()
    # What says the same already; publishing adds nothing.
    duplicate_of: Learning | None = None
    # The same thing where a person said no, newest first.
    rejected_before: tuple[Candidate, ...] = ()
    # The same thing where a person took it back, newest first.
    revoked_before: tuple[Learning, ...] = ()


def item_of(unit: "Unit", candidate: Candidate, *, now_ms: int) -> Item:
    """What is known about a candidate now."""
    if candidate.state not in OPEN:
        return Item(candidate=candidate)
    return Item(
        candidate=candidate,
        is_expired=candidate.is_expired(now_ms),
        conflict=conflict_with(unit, candidate, now_ms=now_ms),
        contradicts=contradictions(unit, candidate, now_ms=now_ms),
        duplicate_of=duplicate_of(unit, candidate, now_ms=now_ms),
        rejected_before=unit.candidates.rejected_by_people(
            candidate.scope, candidate.kind, candidate.semantic_key
        ),
        revoked_before=taken_back(unit, candidate.scope, candidate.kind, candidate.semantic_key),
    )


@dataclass(frozen=True, slots=True)
class CandidateService:
    """Everything a person does with candidates, each in one transaction."""

    units: "Units"
    clock: Clock
    listeners: Listeners = NO_LISTENERS
    guard: SecretGuard = NO_LITERALS

    def create(self, principal: Principal, wanted: NewCandidate) -> Candidate:
        """Propose something; it counts for nothing until somebody decides."""
        now = self.clock.now_ms()
        made = make_candidate(wanted, origin=Origin.API, now_ms=now)
        self.guard.check(texts_of(wanted))
        with self.units.write() as unit:
            candidate = _judged_by_its_past(unit, made)
            propose(unit, candidate, by=principal, now_ms=now, listeners=self.listeners)
        return candidate

    def get(self, candidate_id: str) -> Candidate:
        """One candidate, or `NotFound`."""
        with self.units.read() as unit:
            return require_candidate(unit, candidate_id)

    def item(self, candidate_id: str) -> Item:
        """One candidate with what speaks against it."""
        with self.units.read() as unit:
            candidate = require_candidate(unit, candidate_id)
            return item_of(unit, candidate, now_ms=self.clock.now_ms())

    def next_for_review(self, *, after: str | None = None) -> Item | None:
        """The oldest candidate that waits for a person, after one that was passed over."""
        now = self.clock.now_ms()
        with self.units.read() as unit:
            candidate = unit.candidates.next_open(after=after, now_ms=now)
            return None if candidate is None else item_of(unit, candidate, now_ms=now)

    def page(
        self, request: PageRequest, *, narrowed: CandidateFilter | None = None
    ) -> Page[Candidate]:
        """Candidates by id, oldest first."""
        with self.units.read() as unit:
            return unit.candidates.page(
                request, narrowed=narrowed or CandidateFilter(), now_ms=self.clock.now_ms()
            )

    def publish(
        self, principal: Principal, candidate_id: str, wanted: Wanted | None = None
    ) -> Published:
        """Make it a learning; the same candidate again gives the same learning."""
        changes = wanted or Wanted()
        self.guard.check(texts_wanted(changes))
        self._look_at(candidate_id, changes)
        with self.units.write() as unit:
            return publish(
                unit,
                candidate_id,
                changes,
                by=by_hand(principal),
                now_ms=self.clock.now_ms(),
                listeners=self.listeners,
            )

    def reject(
        self, principal: Principal, candidate_id: str, *, reason: str | None = None
    ) -> Candidate:
        """Say no; the same candidate again stays as it was rejected first."""
        given = check_reason(reason)
        self.guard.check_reason(given)
        with self.units.write() as unit:
            return reject(
                unit,
                candidate_id,
                by=by_hand(principal),
                now_ms=self.clock.now_ms(),
                reason=given,
            )

    def _look_at(self, candidate_id: str, wanted: Wanted) -> None:
        """Look for secrets in what is to be published while nobody waits for the database."""
        if wanted.content is None:
            self.guard.check_stored(self.get(candidate_id))


def _judged_by_its_past(unit: "Unit", candidate: Candidate) -> Candidate:
    """The candidate with what is known of the runs it names, and of earlier ones that said the same."""
    refs = candidate.evidence_refs
    named = dict.fromkeys((candidate.source.run_id, *(ref.run_id for ref in refs)))
    # An artifact is what a tool answered.
    is_untrusted = any(ref.artifact_id is not None for ref in refs) or any(
        may_repeat_others(unit, run_id) for run_id in named if run_id is not None
    )
    before = declined(unit, candidate.scope, candidate.kind, candidate.content)
    return replace(
        candidate,
        derived_from_untrusted=candidate.derived_from_untrusted or is_untrusted,
        declined_before=candidate.declined_before or before is not None,
    )
