"""Bulk decisions: many candidates, each in its own transaction, with a dry run."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

from pydantic import computed_field

from understudy.core.errors import Conflict, DamagedRecord, Invalid, NotFound, Rejected, coded_error
from understudy.core.page import PageRequest
from understudy.core.principal import Principal
from understudy.core.records import Omitted
from understudy.learnings.candidates import CandidateService
from understudy.learnings.decisions import (
    by_hand,
    check_undecided,
    reject_with_notices,
    require_candidate,
)
from understudy.learnings.events import NO_LISTENERS
from understudy.learnings.model import (
    Candidate,
    CandidateFilter,
    CandidateState,
    Kind,
    Learning,
    LearningStatus,
    Tier,
)
from understudy.learnings.publication import Publication, PublishChanges
from understudy.learnings.reach import Reach
from understudy.sessions.learning_scopes import LearningScope

if TYPE_CHECKING:
    from understudy.storage.candidates import CandidateStore
    from understudy.storage.learnings import LearningStore
    from understudy.storage.unit import Unit

MAX_AT_ONCE: Final = 200
# Errors that refuse one candidate; any other error stops the whole request.
REFUSALS: Final = (NotFound, Conflict, Invalid, Rejected, DamagedRecord)
# Decides one candidate.
Decide: TypeAlias = Callable[["BulkChoice"], "BulkOutcome"]


class BulkAction(StrEnum):
    """What is decided."""

    PUBLISH = "publish"
    REJECT = "reject"


@dataclass(frozen=True, slots=True, kw_only=True)
class BulkChoice:
    """A candidate to decide, as a person saw it."""

    candidate_id: str
    # The version that was shown: a decision since then refuses this candidate.
    version: int | None = None
    # The scope to publish it for; None for the one that review suggests.
    scope: LearningScope | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BulkRequest:
    """One decision about candidates that are named, or that a filter finds open."""

    action: BulkAction
    candidates: tuple[BulkChoice, ...] = ()
    narrowed: CandidateFilter = field(default_factory=CandidateFilter)
    # Every open candidate; explicit, so that an empty filter never means all of them.
    everything: bool = False
    publish_tier: Tier = Tier.ACTIVE
    reason: str | None = None
    dry_run: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class BulkOutcome:
    """The outcome for one candidate; in a dry run, the outcome it would have."""

    candidate_id: str
    learning_id: Omitted[str] = None
    # The version that was shown, to be sent with the decision.
    version: Omitted[int] = None
    # The scope of the learning, and the sessions in which it is injected.
    reach: Omitted[Reach] = None
    # The error code of the refusal, as the single call would return.
    code: Omitted[str] = None
    detail: Omitted[str] = None

    @computed_field
    @property
    def done(self) -> bool:
        """Whether the candidate was decided, or would be."""
        return self.code is None


@dataclass(frozen=True, slots=True, kw_only=True)
class BulkResult:
    """One decision about many candidates."""

    action: BulkAction
    dry_run: bool
    items: tuple[BulkOutcome, ...]
    # Whether the filter finds more than are decided at once; ask again for the rest.
    has_more: bool = False

    @computed_field
    @property
    def done_count(self) -> int:
        """How many were decided, or would be."""
        return sum(it.done for it in self.items)

    @computed_field
    @property
    def refused_count(self) -> int:
        """How many were refused, or would be."""
        return len(self.items) - self.done_count


@dataclass(frozen=True, slots=True)
class BulkService:
    """Decides many candidates, each in a transaction of its own."""

    candidates: CandidateService
    most_at_once: int = MAX_AT_ONCE

    def decide(self, principal: Principal, request: BulkRequest) -> BulkResult:
        """Decide the candidates one after another; a refusal does not stop the others."""
        reason = self.candidates.guard.checked_reason(request.reason)
        request = replace(request, reason=reason)
        chosen, has_more = self.chosen(request)
        act = self._preview if request.dry_run else self._carry_out
        return BulkResult(
            action=request.action,
            dry_run=request.dry_run,
            items=act(principal, request, chosen),
            has_more=has_more,
        )

    def chosen(self, request: BulkRequest) -> tuple[tuple[BulkChoice, ...], bool]:
        """The candidates that a request names or finds, and whether it finds more."""
        if request.candidates:
            if len(request.candidates) > self.most_at_once:
                raise coded_error(
                    "learnings/too_many_candidates",
                    pointer="/candidates",
                    limit=self.most_at_once,
                )
            once: dict[str, BulkChoice] = {}
            for each in request.candidates:
                once.setdefault(each.candidate_id, each)
            return tuple(once.values()), False
        if request.narrowed == CandidateFilter() and not request.everything:
            raise coded_error("learnings/filter_required")
        return self._found(request.narrowed)

    def _found(self, narrowed: CandidateFilter) -> tuple[tuple[BulkChoice, ...], bool]:
        open_ones = (CandidateState.PENDING, CandidateState.ESCALATED)
        states = open_ones if narrowed.state is None else (narrowed.state,)
        pages = [
            self.candidates.page(
                PageRequest(limit=self.most_at_once), narrowed=replace(narrowed, state=state)
            )
            for state in states
        ]
        found = sorted(it.candidate_id for page in pages for it in page.items)
        has_more = len(found) > self.most_at_once or any(page.next_cursor for page in pages)
        return tuple(BulkChoice(candidate_id=it) for it in found[: self.most_at_once]), has_more

    def _carry_out(
        self, principal: Principal, request: BulkRequest, chosen: Sequence[BulkChoice]
    ) -> tuple[BulkOutcome, ...]:
        act = partial(_ACTIONS[request.action], self.candidates, principal, request)
        return tuple(_outcome(it, act) for it in chosen)

    def _preview(
        self, principal: Principal, request: BulkRequest, chosen: Sequence[BulkChoice]
    ) -> tuple[BulkOutcome, ...]:
        """Decide in a unit without writes, so that conflicts between the candidates show too."""
        service = self.candidates
        # Before the transaction, as where they are published.
        checked = {it: _outcome(it, partial(_checked, service, request)) for it in chosen}
        with service.units.read() as unit:
            preview = _Preview(
                request=request,
                publication=Publication(
                    unit=discarding_unit(unit),
                    by=by_hand(principal),
                    now_ms=service.clock.now_ms(),
                    listeners=NO_LISTENERS,
                ),
            )
            return tuple(
                _outcome(it, preview.act) if seen.done else seen for it, seen in checked.items()
            )


def _publish(
    service: CandidateService, principal: Principal, request: BulkRequest, chosen: BulkChoice
) -> BulkOutcome:
    published = service.publish(principal, chosen.candidate_id, _changes(request, chosen))
    return BulkOutcome(
        candidate_id=chosen.candidate_id,
        learning_id=published.learning.learning_id,
        reach=published.reach,
    )


def _changes(request: BulkRequest, chosen: BulkChoice) -> PublishChanges:
    return PublishChanges(
        publish_tier=request.publish_tier, scope=chosen.scope, version=chosen.version
    )


def _reject(
    service: CandidateService, principal: Principal, request: BulkRequest, chosen: BulkChoice
) -> BulkOutcome:
    service.reject(principal, chosen.candidate_id, reason=request.reason, version=chosen.version)
    return BulkOutcome(candidate_id=chosen.candidate_id)


_ACTIONS: Final = {BulkAction.PUBLISH: _publish, BulkAction.REJECT: _reject}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Preview:
    """The decisions of a dry run, in a unit that discards writes."""

    request: BulkRequest
    publication: Publication
    # Ids of learnings that only the dry run has made; they are not answered.
    made: set[str] = field(default_factory=set)

    def act(self, chosen: BulkChoice) -> BulkOutcome:
        candidate = require_candidate(self.publication.unit, chosen.candidate_id)
        check_undecided(candidate, chosen.version)
        act = self._publish if self.request.action is BulkAction.PUBLISH else self._reject
        return replace(act(chosen), version=candidate.version)

    def _publish(self, chosen: BulkChoice) -> BulkOutcome:
        at = self.publication
        published = at.publish(chosen.candidate_id, _changes(self.request, chosen))
        learning_id = published.learning.learning_id
        if published.is_new:
            self.made.add(learning_id)
        return BulkOutcome(
            candidate_id=chosen.candidate_id,
            learning_id=None if learning_id in self.made else learning_id,
            reach=published.reach,
        )

    def _reject(self, chosen: BulkChoice) -> BulkOutcome:
        at = self.publication
        reject_with_notices(
            at.unit, chosen.candidate_id, by=at.by, now_ms=at.now_ms, reason=self.request.reason
        )
        return BulkOutcome(candidate_id=chosen.candidate_id)


def _checked(service: CandidateService, request: BulkRequest, chosen: BulkChoice) -> BulkOutcome:
    if request.action is BulkAction.PUBLISH:
        service.check_stored(chosen.candidate_id)
    return BulkOutcome(candidate_id=chosen.candidate_id)


def _outcome(chosen: BulkChoice, decide: Decide) -> BulkOutcome:
    try:
        return decide(chosen)
    except REFUSALS as refused:
        return BulkOutcome(
            candidate_id=chosen.candidate_id, code=refused.code, detail=refused.detail
        )


def discarding_unit(unit: "Unit") -> "Unit":
    """A unit whose writes of decisions are visible in it alone and are never committed."""
    return cast("Unit", _DiscardingUnit(unit))


class _DiscardingUnit:
    """Reads go to the wrapped unit; the stores that a decision writes to are overlays."""

    def __init__(self, unit: "Unit") -> None:
        self._unit = unit
        self.candidates = _Candidates(unit.candidates)
        self.learnings = _Learnings(unit.learnings)
        self.audit = _DiscardedAudit()

    def after_commit(self, _act: object) -> None:
        """Never called: nothing is committed."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._unit, name)


class _DiscardedAudit:
    """An audit log that discards its entries."""

    def add(self, _entry: object) -> None:
        """Discard the entry."""


class _Candidates:
    """Candidates as stored; each is decided once in a request, so updates are discarded."""

    def __init__(self, store: "CandidateStore") -> None:
        self._store = store

    def get(self, candidate_id: str, *, lock: bool = False) -> Candidate | None:
        return self._store.get(candidate_id)

    def update(self, _candidate: Candidate, *, expected_version: int) -> None:
        """Discard the update: no later decision reads this candidate."""


class _Learnings:
    """Learnings as stored, and those that the dry run made."""

    def __init__(self, store: "LearningStore") -> None:
        self._store = store
        # Newest first, in the order of the store.
        self._made: list[Learning] = []

    def hold(self, scope: LearningScope) -> None:
        """No lock: nothing is written."""

    def get(self, learning_id: str, *, lock: bool = False) -> Learning | None:
        return self._store.get(learning_id)

    def update(self, learning: Learning, *, expected_version: int) -> None:
        """Discard the update: no later decision reads a learning that this one ended."""

    def add(self, learning: Learning) -> None:
        self._made.insert(0, learning)

    def with_key(self, scope: LearningScope, kind: Kind, semantic_key: str) -> tuple[Learning, ...]:
        wanted = (scope, kind, semantic_key)
        made = (it for it in self._made if (it.scope, it.kind, it.semantic_key) == wanted)
        return (*made, *self._store.with_key(scope, kind, semantic_key))

    def about(
        self,
        kind: Kind,
        subject_key: str,
        *,
        limit: int,
        scopes: Sequence[LearningScope] | None = None,
    ) -> tuple[Learning, ...]:
        made = (
            it
            for it in self._made
            if (it.kind, it.subject_key, it.status) == (kind, subject_key, LearningStatus.ACTIVE)
            and (scopes is None or it.scope in scopes)
        )
        return (*made, *self._store.about(kind, subject_key, limit=limit, scopes=scopes))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)
