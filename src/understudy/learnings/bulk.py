"""Many candidates at once: each decided for itself, with a preview of what would be refused."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
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
from understudy.learnings.checks import check_reason
from understudy.learnings.decisions import by_hand, reject_quietly
from understudy.learnings.events import NO_LISTENERS
from understudy.learnings.guard import SecretGuard
from understudy.learnings.model import (
    Candidate,
    CandidateFilter,
    CandidateState,
    Kind,
    Learning,
    LearningStatus,
    Tier,
)
from understudy.learnings.publication import Publication, Wanted
from understudy.sessions.learning_scopes import LearningScope

if TYPE_CHECKING:
    from understudy.storage.candidates import CandidateStore
    from understudy.storage.learnings import LearningStore
    from understudy.storage.unit import Unit, Units

MAX_AT_ONCE: Final = 200
# What says no to one candidate; anything else stops the whole.
REFUSALS: Final = (NotFound, Conflict, Invalid, Rejected, DamagedRecord)
# Decides one candidate, and answers the learning it became.
Decide: TypeAlias = Callable[[str], str | None]


class BulkAction(StrEnum):
    """What is decided."""

    PUBLISH = "publish"
    REJECT = "reject"


@dataclass(frozen=True, slots=True, kw_only=True)
class BulkRequest:
    """One decision about candidates that are named, or that a filter finds open."""

    action: BulkAction
    candidate_ids: tuple[str, ...] = ()
    narrowed: CandidateFilter = field(default_factory=CandidateFilter)
    # Every open candidate; has to be said, so that nobody says it by leaving something out.
    everything: bool = False
    publish_tier: Tier = Tier.ACTIVE
    reason: str | None = None
    dry_run: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class BulkOutcome:
    """What became of one candidate, or would."""

    candidate_id: str
    learning_id: Omitted[str] = None
    # Why it was refused, as the single call would answer.
    code: Omitted[str] = None
    detail: Omitted[str] = None

    @computed_field
    @property
    def done(self) -> bool:
        """Whether it was decided so, or would be."""
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
        """Decide them one after another; one that is refused keeps no other from it."""
        request = replace(request, reason=check_reason(request.reason))
        self.candidates.guard.check_reason(request.reason)
        candidate_ids, has_more = self._chosen(request)
        act = self._preview if request.dry_run else self._carry_out
        return BulkResult(
            action=request.action,
            dry_run=request.dry_run,
            items=act(principal, request, candidate_ids),
            has_more=has_more,
        )

    def _chosen(self, request: BulkRequest) -> tuple[tuple[str, ...], bool]:
        if request.candidate_ids:
            if len(request.candidate_ids) > self.most_at_once:
                raise coded_error(
                    "learnings/too_many_candidates",
                    pointer="/candidate_ids",
                    limit=self.most_at_once,
                )
            return tuple(dict.fromkeys(request.candidate_ids)), False
        if request.narrowed == CandidateFilter() and not request.everything:
            raise coded_error("learnings/filter_required")
        return self._found(request.narrowed)

    def _found(self, narrowed: CandidateFilter) -> tuple[tuple[str, ...], bool]:
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
        return tuple(found[: self.most_at_once]), has_more

    def _carry_out(
        self, principal: Principal, request: BulkRequest, candidate_ids: Sequence[str]
    ) -> tuple[BulkOutcome, ...]:
        act = partial(_ACTIONS[request.action], self.candidates, principal, request)
        return tuple(_outcome(candidate_id, act) for candidate_id in candidate_ids)

    def _preview(
        self, principal: Principal, request: BulkRequest, candidate_ids: Sequence[str]
    ) -> tuple[BulkOutcome, ...]:
        """Do it as if: what two of them do to each other shows too."""
        service = self.candidates
        is_published = request.action is BulkAction.PUBLISH
        found = candidates_of(service.units, candidate_ids) if is_published else {}
        look = partial(_look_at, service.guard, found)
        looked_at = {it: _outcome(it, look) for it in candidate_ids}
        with service.units.read() as unit:
            preview = _Preview(
                request=request,
                publication=Publication(
                    unit=as_if(unit),
                    by=by_hand(principal),
                    now_ms=service.clock.now_ms(),
                    listeners=NO_LISTENERS,
                ),
            )
            return tuple(
                _outcome(it, preview.act) if seen.done else seen for it, seen in looked_at.items()
            )


def _publish(
    service: CandidateService, principal: Principal, request: BulkRequest, candidate_id: str
) -> str | None:
    published = service.publish(principal, candidate_id, Wanted(publish_tier=request.publish_tier))
    return published.learning.learning_id


def _reject(
    service: CandidateService, principal: Principal, request: BulkRequest, candidate_id: str
) -> str | None:
    service.reject(principal, candidate_id, reason=request.reason)
    return None


_ACTIONS: Final = {BulkAction.PUBLISH: _publish, BulkAction.REJECT: _reject}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Preview:
    """The same decisions in a unit that keeps nothing."""

    request: BulkRequest
    publication: Publication
    # Learnings that would be made, and so have no id yet.
    made: set[str] = field(default_factory=set)

    def act(self, candidate_id: str) -> str | None:
        if self.request.action is BulkAction.PUBLISH:
            return self._publish(candidate_id)
        self._reject(candidate_id)
        return None

    def _publish(self, candidate_id: str) -> str | None:
        published = self.publication.publish(
            candidate_id, Wanted(publish_tier=self.request.publish_tier)
        )
        learning_id = published.learning.learning_id
        if published.is_new:
            self.made.add(learning_id)
        return None if learning_id in self.made else learning_id

    def _reject(self, candidate_id: str) -> None:
        at = self.publication
        reject_quietly(
            at.unit, candidate_id, by=at.by, now_ms=at.now_ms, reason=self.request.reason
        )


def _look_at(guard: SecretGuard, found: Mapping[str, Candidate], candidate_id: str) -> None:
    """Look for secrets before the database is asked anything more."""
    if candidate_id in found:
        guard.check_stored(found[candidate_id])


def _outcome(candidate_id: str, decide: Decide) -> BulkOutcome:
    try:
        return BulkOutcome(candidate_id=candidate_id, learning_id=decide(candidate_id))
    except REFUSALS as refused:
        return BulkOutcome(candidate_id=candidate_id, code=refused.code, detail=refused.detail)


def candidates_of(units: "Units", candidate_ids: Sequence[str]) -> Mapping[str, Candidate]:
    """Those that are there and can be read."""
    found: dict[str, Candidate] = {}
    with units.read() as unit:
        for candidate_id in candidate_ids:
            with suppress(DamagedRecord):
                candidate = unit.candidates.get(candidate_id)
                if candidate is not None:
                    found[candidate_id] = candidate
    return found


def as_if(unit: "Unit") -> "Unit":
    """A unit in which candidates can be decided: what that makes is seen in it, and nowhere else."""
    return cast("Unit", _AsIf(unit))


class _AsIf:
    """Everything as in the unit that it looks into, but for what a decision writes."""

    def __init__(self, unit: "Unit") -> None:
        self._unit = unit
        self.candidates = _Candidates(unit.candidates)
        self.learnings = _Learnings(unit.learnings)
        self.audit = _Nowhere()

    def after_commit(self, _act: object) -> None:
        """Nothing comes of it."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._unit, name)


class _Nowhere:
    """Takes what is written down and keeps none of it."""

    def add(self, _entry: object) -> None:
        """Forget it."""


class _Candidates:
    """Candidates, each of which is decided once."""

    def __init__(self, store: "CandidateStore") -> None:
        self._store = store

    def get(self, candidate_id: str, *, lock: bool = False) -> Candidate | None:
        return self._store.get(candidate_id)

    def update(self, _candidate: Candidate, *, expected_version: int) -> None:
        """Nobody asks for it again."""


class _Learnings:
    """Learnings, with those among them that would be made."""

    def __init__(self, store: "LearningStore") -> None:
        self._store = store
        # The newest first, as the store answers.
        self._made: list[Learning] = []

    def hold(self, scope: LearningScope) -> None:
        """Nothing is written, so nobody has to wait."""

    def get(self, learning_id: str, *, lock: bool = False) -> Learning | None:
        return self._store.get(learning_id)

    def update(self, learning: Learning, *, expected_version: int) -> None:
        """What one decision ends, no other in the same request asks for."""

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
