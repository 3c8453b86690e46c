"""Use cases of candidates: propose, list, show to a reviewer, publish, reject."""

import asyncio
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import TYPE_CHECKING, Annotated

from understudy.core.clock import Clock
from understudy.core.errors import coded_error
from understudy.core.page import Page, PageRequest
from understudy.core.principal import Principal
from understudy.core.records import OMIT_EMPTY, Omitted, extended, reduced
from understudy.learnings.already_decided import declined, revoked_learnings
from understudy.learnings.checks import check_says_something
from understudy.learnings.conflicts import (
    conflict_with,
    contradictions,
    duplicate_of,
    stated_in_the_way,
)
from understudy.learnings.decisions import by_hand, reject, require_candidate
from understudy.learnings.events import NO_LISTENERS, Listeners, tell
from understudy.learnings.guard import NO_LITERALS, SecretGuard, texts_of, texts_of_changes
from understudy.learnings.model import (
    OPEN,
    Candidate,
    CandidateFilter,
    EvidenceRef,
    LearningSource,
    Neighbour,
    Origin,
    RelatedLearning,
    Relation,
    related,
)
from understudy.learnings.proof import ProofReason, prove
from understudy.learnings.proposal import NewCandidate, make_candidate, propose
from understudy.learnings.publication import (
    NeighboursOf,
    Publication,
    PublishChanges,
    Published,
    check_changes,
    publish,
    with_changes,
)
from understudy.learnings.quotations import quotes_for
from understudy.learnings.reach import Reach, covers, named_scopes, reaches_of, suggested_scope
from understudy.learnings.reopen import reopen, snooze
from understudy.learnings.taint import may_repeat_untrusted, path_of_statement
from understudy.memory.policy import policy_in
from understudy.sessions.learning_scopes import LearningScope

if TYPE_CHECKING:
    from understudy.learnings.neighbours import Neighbourhood
    from understudy.storage.unit import Unit, Units


@dataclass(frozen=True, slots=True, kw_only=True)
class RejectedBefore:
    """A candidate with the same content that a person rejected."""

    candidate_id: str
    decided_at_ms: Omitted[int] = None
    decided_by: Omitted[str] = None
    reason: Omitted[str] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RevokedBefore:
    """A learning with the same content that a person revoked."""

    learning_id: str
    scope: LearningScope
    revoked_at_ms: Omitted[int] = None
    revoked_by: Omitted[str] = None
    reason: Omitted[str] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedCandidate(Candidate):
    """A candidate with the scope that it would be published for."""

    # What review suggests, and what a publication without a scope is for; absent once decided.
    suggested_scope: Omitted[LearningScope] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewItem(ListedCandidate):
    """A candidate with what a reviewer should know; once it is decided, the candidate alone."""

    # Sources of text in its source run other than the user's typing, such as tool_result or file.
    untrusted_sources: Annotated[tuple[str, ...], OMIT_EMPTY] = ()
    # The sentences of the request of its source run that say it.
    quotes: tuple[str, ...] = ()
    # Whether the user typed its quote; absent without one, or where the request is gone.
    quote_found: Omitted[bool] = None
    # The scopes that it can be published for: its own first, then narrowest first.
    reaches: tuple[Reach, ...] = ()
    # Whether it expired and can no longer be published.
    expired: bool = False
    # The learning that must be named in `supersedes` for this to be published as it is.
    conflicts_with: Omitted[RelatedLearning] = None
    # Contradicting learnings of other scopes or kinds; in a prompt the narrower scope of one kind wins.
    contradicts: tuple[RelatedLearning, ...] = ()
    # A learning that says the same; publishing returns it instead of making another.
    duplicate_of: Omitted[RelatedLearning] = None
    # The learnings nearest to it in the suggested scope, nearest first, with their relations.
    neighbours: tuple[Neighbour, ...] = ()
    # Newest first.
    rejected_before: tuple[RejectedBefore, ...] = ()
    # In any scope that is visible together with this one, newest first.
    revoked_before: tuple[RevokedBefore, ...] = ()


def review_item(
    unit: "Unit", candidate: Candidate, neighbours: NeighboursOf, *, now_ms: int
) -> ReviewItem:
    """A candidate with its conflicts, duplicates and earlier refusals as they are now."""
    if candidate.state not in OPEN:
        return extended(ReviewItem, candidate, neighbours=neighbours(unit, candidate))
    suggested = suggested_scope(unit, candidate)
    # What is in the way where it would be published.
    shape = replace(candidate, scope=suggested)
    stated = partial(stated_in_the_way, unit, shape, now_ms=now_ms)
    conflict = conflict_with(unit, shape, now_ms=now_ms) or stated(Relation.CONTRADICTS)
    duplicate = duplicate_of(unit, shape, now_ms=now_ms)
    if duplicate is None and (same := stated(Relation.SAME)) is not None:
        duplicate = same if covers(unit, same.scope, suggested) else None
    key = (candidate.scope, candidate.kind, candidate.semantic_key)
    contrary = contradictions(unit, shape, now_ms=now_ms)
    request = _request(unit, candidate, now_ms=now_ms)
    return extended(
        ReviewItem,
        candidate,
        suggested_scope=suggested,
        untrusted_sources=path_of_statement(unit, candidate),
        quotes=quotes_for(candidate.content, request) if request else (),
        quote_found=_is_typed(candidate, request),
        reaches=reaches_of(unit, candidate, offered=suggested, now_ms=now_ms),
        expired=candidate.is_expired(now_ms),
        conflicts_with=reduced(RelatedLearning, conflict) if conflict else None,
        contradicts=related(contrary),
        duplicate_of=reduced(RelatedLearning, duplicate) if duplicate else None,
        neighbours=neighbours(unit, shape),
        rejected_before=tuple(
            reduced(RejectedBefore, it, reason=it.decision_reason)
            for it in unit.candidates.rejected_by_people(*key)
        ),
        revoked_before=tuple(
            reduced(RevokedBefore, it, reason=it.revoked_reason)
            for it in revoked_learnings(unit, *key)
        ),
    )


def _request(unit: "Unit", candidate: Candidate, *, now_ms: int) -> str:
    """The request of its source run; empty where it is not kept."""
    run_id = candidate.source.run_id
    pointer = unit.run_memory_index.get(run_id) if run_id else None
    if pointer is None or policy_in(unit).is_expired(pointer.recorded_at_ms, now_ms=now_ms):
        return ""
    evidence = unit.run_memory_index.evidence(pointer.run_id)
    return evidence.request if evidence else ""


def _is_typed(candidate: Candidate, request: str) -> bool | None:
    """Whether the user typed the quote of a candidate; None where that is not known."""
    if not candidate.quote or not request:
        return None
    proof = prove(candidate.content, candidate.quote, request)
    return proof.reason is not ProofReason.QUOTE_NOT_FOUND


@dataclass(frozen=True, slots=True, kw_only=True)
class NextReviewItem:
    """The first candidate of the queue of review, if any waits."""

    item: ReviewItem | None
    # How many wait after it.
    following: Omitted[int] = None
    # How many are put off, and so are not among them; absent if none is.
    snoozed: Omitted[int] = None


@dataclass(frozen=True, slots=True)
class CandidateService:
    """Everything a person does with candidates, each in one transaction."""

    units: "Units"
    clock: Clock
    listeners: Listeners = NO_LISTENERS
    guard: SecretGuard = NO_LITERALS
    neighbourhood: "Neighbourhood | None" = None

    async def compared(self, wanted: NewCandidate, changes: PublishChanges) -> PublishChanges:
        """The changes with the relations of a new statement, unless a person decided about them."""
        made = make_candidate(wanted, origin=Origin.API, now_ms=self.clock.now_ms())
        return await self._compared(made, changes)

    async def compared_again(self, candidate_id: str, changes: PublishChanges) -> PublishChanges:
        """The changes with the relations of what is published of a candidate."""
        check_changes(changes)
        candidate = await asyncio.to_thread(self.get, candidate_id)
        if candidate.state not in OPEN:
            return changes
        return await self._compared(with_changes(candidate, changes), changes)

    async def _compared(self, said: Candidate, changes: PublishChanges) -> PublishChanges:
        is_decided = changes.beside or changes.supersedes is not None
        if self.neighbourhood is None or is_decided:
            return changes
        found = await self.neighbourhood.compare(said)
        return changes if found is None else replace(changes, relations=found.relations)

    async def look_around(self, candidate_id: str) -> None:
        """Compare a new candidate with its neighbours, where a model can be asked."""
        if self.neighbourhood is not None:
            await self.neighbourhood.refresh(candidate_id)

    def _neighbours(self, unit: "Unit", said: Candidate) -> tuple[Neighbour, ...]:
        return () if self.neighbourhood is None else self.neighbourhood.of(unit, said)

    def create(self, principal: Principal, wanted: NewCandidate) -> Candidate:
        """Propose a candidate; it has no effect before it is published.

        An open candidate with the same content for the same session is returned instead.
        """
        now = self.clock.now_ms()
        made = make_candidate(wanted, origin=Origin.API, now_ms=now)
        self.guard.check(texts_of(wanted))
        with self.units.write() as unit:
            there = _waiting_in_session(unit, made, now_ms=now)
            if there is not None:
                return there
            candidate = _marked_by_history(unit, made)
            propose(unit, candidate, by=principal, now_ms=now, listeners=self.listeners)
        return candidate

    def learn(
        self,
        principal: Principal,
        wanted: NewCandidate,
        changes: PublishChanges | None = None,
    ) -> Published:
        """Propose and publish in one step; a known statement returns the existing learning.

        A refusal leaves no candidate.
        """
        changes = changes or PublishChanges()
        check_changes(changes)
        now = self.clock.now_ms()
        made = make_candidate(wanted, origin=Origin.API, now_ms=now)
        check_says_something(made.content)
        if made.is_expired(now):
            raise coded_error("learnings/expiry_is_past", pointer="/expires_at_ms")
        self.guard.check(texts_of(wanted))
        with self.units.write() as unit:
            unit.learnings.hold(made.scope)
            candidate = _marked_by_history(unit, made)
            publication = Publication(
                unit=unit,
                by=by_hand(principal),
                now_ms=now,
                listeners=self.listeners,
                neighbours=self._neighbours,
            )
            result = publication.publish_new(candidate, changes)
            tell(unit, publication.told, at_ms=now)
            return result

    def get(self, candidate_id: str) -> Candidate:
        """One candidate, or `NotFound`."""
        with self.units.read() as unit:
            return require_candidate(unit, candidate_id)

    def item(self, candidate_id: str) -> ReviewItem:
        """One candidate with what a reviewer should know."""
        with self.units.read() as unit:
            candidate = require_candidate(unit, candidate_id)
            return self._review_item(unit, candidate, now_ms=self.clock.now_ms())

    def next_for_review(
        self, *, after: str | None = None, narrowed: CandidateFilter | None = None
    ) -> NextReviewItem:
        """The first in the queue of review, or the next one after the candidate `after`."""
        now = self.clock.now_ms()
        with self.units.read() as unit:
            candidate, following = unit.candidates.next_for_review(
                after=after, narrowed=narrowed, now_ms=now
            )
            snoozed = unit.candidates.snoozed_count(now_ms=now, narrowed=narrowed) or None
            if candidate is None:
                return NextReviewItem(item=None, snoozed=snoozed)
            item = self._review_item(unit, candidate, now_ms=now)
            return NextReviewItem(item=item, following=following, snoozed=snoozed)

    def _review_item(self, unit: "Unit", candidate: Candidate, *, now_ms: int) -> ReviewItem:
        return review_item(unit, candidate, self._neighbours, now_ms=now_ms)

    def page(
        self, request: PageRequest, *, narrowed: CandidateFilter | None = None
    ) -> Page[ListedCandidate]:
        """Candidates by id, oldest first, or in the order of review."""
        with self.units.read() as unit:
            page = unit.candidates.page(
                request, narrowed=narrowed or CandidateFilter(), now_ms=self.clock.now_ms()
            )
            # Candidates of one session are offered the same scopes.
            named = cache(partial(named_scopes, unit))
            items = (
                extended(
                    ListedCandidate,
                    it,
                    suggested_scope=suggested_scope(unit, it, named) if it.state in OPEN else None,
                )
                for it in page.items
            )
            return Page(items=tuple(items), next_cursor=page.next_cursor)

    def publish(
        self, principal: Principal, candidate_id: str, wanted: PublishChanges | None = None
    ) -> Published:
        """Publish a candidate as a learning; a retry answers the same learning."""
        changes = wanted or PublishChanges()
        # Lengths first: the search for secrets takes long over a long text.
        check_changes(changes)
        self.guard.check(texts_of_changes(changes))
        if changes.content is None:
            self.check_stored(candidate_id)
        with self.units.write() as unit:
            return publish(
                unit,
                candidate_id,
                changes,
                by=by_hand(principal),
                now_ms=self.clock.now_ms(),
                listeners=self.listeners,
                neighbours=self._neighbours,
            )

    def reject(
        self,
        principal: Principal,
        candidate_id: str,
        *,
        reason: str | None = None,
        version: int | None = None,
    ) -> Candidate:
        """Reject a candidate; a retry leaves the first rejection as it is.

        With the version that the person saw, a decision that came first is refused instead.
        """
        given = self.guard.checked_reason(reason)
        with self.units.write() as unit:
            return reject(
                unit,
                candidate_id,
                by=by_hand(principal),
                now_ms=self.clock.now_ms(),
                reason=given,
                version=version,
            )

    def reopen(
        self, principal: Principal, candidate_id: str, *, reason: str | None = None
    ) -> Candidate:
        """Take a decision of this person back: the candidate is pending again."""
        given = self.guard.checked_reason(reason)
        with self.units.write() as unit:
            return reopen(
                unit,
                candidate_id,
                by=principal,
                now_ms=self.clock.now_ms(),
                listeners=self.listeners,
                reason=given,
            )

    def snooze(self, principal: Principal, candidate_id: str, until_ms: int) -> Candidate:
        """Leave a candidate out of the queue of review until a time."""
        now = self.clock.now_ms()
        with self.units.write() as unit:
            return snooze(unit, candidate_id, until_ms, by=principal, now_ms=now)

    def check_stored(self, candidate_id: str) -> None:
        """Check the stored content for secrets before the write transaction takes its lock."""
        self.guard.check_stored(self.get(candidate_id))


def _waiting_in_session(unit: "Unit", made: Candidate, *, now_ms: int) -> Candidate | None:
    """The open candidate that says the same, of the session or by the client of this one."""
    of = made.source
    typed = LearningSource(session_id=of.session_id, agent_id=of.agent_id, client=of.client)
    if made.source != typed or not (typed.session_id or typed.client):
        return None
    there = unit.candidates.proposed_with_key(
        made.scope, made.kind, made.semantic_key, now_ms=now_ms, origin=Origin.API
    )
    return there if there is not None and there.source == typed else None


def _names_untrusted(unit: "Unit", ref: EvidenceRef) -> bool:
    """Whether a reference names a tool result or a file; a captured request has the user's words."""
    if ref.artifact_id is None:
        return False
    return ref.run_id is None or unit.debug.get(ref.run_id, ref.artifact_id) is None


def _marked_by_history(unit: "Unit", candidate: Candidate) -> Candidate:
    """The candidate, marked as untrusted or declined because of its runs or its history."""
    refs = candidate.evidence_refs
    named = dict.fromkeys((candidate.source.run_id, *(ref.run_id for ref in refs)))
    is_untrusted = any(_names_untrusted(unit, ref) for ref in refs) or any(
        may_repeat_untrusted(unit, run_id, candidate.content)
        for run_id in named
        if run_id is not None
    )
    before = declined(unit, candidate.scope, candidate.kind, candidate.content)
    return replace(
        candidate,
        derived_from_untrusted=candidate.derived_from_untrusted or is_untrusted,
        declined_before=candidate.declined_before or before is not None,
    )
