"""Publication of a candidate as a learning: changes, checks in order, no writes on a refusal."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

from understudy.core.errors import coded_error
from understudy.core.ids import new_id
from understudy.core.records import Omitted, reduced
from understudy.learnings.checks import (
    check_confidence,
    check_content,
    check_evidence,
    check_expiry,
    check_learning,
    check_scope,
)
from understudy.learnings.conflicts import (
    conflict_with,
    contradictions,
    duplicate_of,
    stated_in_the_way,
)
from understudy.learnings.decisions import (
    Decider,
    Retirement,
    check_undecided,
    decide,
    decided_error,
    not_live_error,
    require_candidate,
    require_learning,
)
from understudy.learnings.events import (
    NO_LISTENERS,
    LearningEvent,
    LearningNotice,
    Listeners,
    of_candidate,
    of_learning,
    tell,
)
from understudy.learnings.keys import key_of
from understudy.learnings.model import (
    LIVE,
    Applies,
    Candidate,
    CandidateState,
    CapturePath,
    EvidenceRef,
    Kind,
    Learning,
    LearningStatus,
    Neighbour,
    PolicyDecision,
    RelatedLearning,
    Relation,
    Sensitivity,
    StatedRelation,
    Tier,
)
from understudy.learnings.proposal import store
from understudy.learnings.reach import Reach, covers, reach_of, suggested_scope
from understudy.sessions.learning_scopes import LearningScope

if TYPE_CHECKING:
    from understudy.storage.unit import Unit

T = TypeVar("T")
NeighboursOf: TypeAlias = Callable[["Unit", Candidate], tuple[Neighbour, ...]]

# Automation answers nobody.
NO_NEIGHBOURS: Final[NeighboursOf] = lambda *_: ()  # noqa: E731
# Questions of the daemon to people: their expiry is a deadline and not that of the learning.
_ASKED: Final = frozenset({CapturePath.USAGE, CapturePath.ROLLOUT})


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishChanges:
    """Changes to a candidate on publication; None keeps the value of the candidate."""

    # None is the scope that review suggests; automation keeps that of the candidate.
    scope: LearningScope | None = None
    kind: Kind | None = None
    sensitivity: Sensitivity | None = None
    applies: Applies | None = None
    content: str | None = None
    confidence: int | None = None
    expires_at_ms: int | None = None
    evidence_refs: tuple[EvidenceRef, ...] | None = None
    publish_tier: Tier = Tier.ACTIVE
    # The learning that this one replaces.
    supersedes: str | None = None
    # Whether it is published beside learnings that say the same or contradict it.
    beside: bool = False
    # Its relations to its neighbours as a model named them; None keeps those of the candidate.
    relations: tuple[StatedRelation, ...] | None = None
    # The version of the candidate that a person saw: a decision since then is refused.
    version: int | None = None


def check_changes(wanted: PublishChanges) -> None:
    """Check the changes by themselves, without the candidate."""
    if wanted.supersedes is not None and wanted.publish_tier is not Tier.ACTIVE:
        raise coded_error("learnings/supersedes_needs_active_tier", pointer="/publish_tier")
    if wanted.supersedes is not None and wanted.beside:
        raise coded_error("learnings/supersedes_or_beside", pointer="/beside")
    if wanted.scope is not None:
        check_scope(wanted.scope)
    if wanted.content is not None:
        check_content(wanted.content, _guarded(wanted.kind or Kind.FACT))
    if wanted.confidence is not None:
        check_confidence(wanted.confidence)
    if wanted.evidence_refs is not None:
        check_evidence(wanted.evidence_refs)
    check_expiry(wanted.expires_at_ms)


def with_changes(candidate: Candidate, wanted: PublishChanges) -> Candidate:
    """The candidate with the changes applied, trimmed, checked and keyed."""
    kind = wanted.kind or candidate.kind
    if kind is Kind.RUN_SUMMARY and candidate.kind is not Kind.RUN_SUMMARY:
        raise coded_error("learnings/run_summary_is_daemon_owned", pointer="/kind")
    expires_at_ms = None if candidate.capture_path in _ASKED else candidate.expires_at_ms
    # Relations say nothing about another content.
    is_same = wanted.content is None or wanted.content.strip() == candidate.content
    return replace(
        _said(candidate, wanted, kind),
        kind=kind,
        scope=wanted.scope or candidate.scope,
        sensitivity=wanted.sensitivity or candidate.sensitivity,
        applies=wanted.applies or candidate.applies,
        confidence=given_or(wanted.confidence, candidate.confidence),
        expires_at_ms=given_or(wanted.expires_at_ms, expires_at_ms),
        evidence_refs=given_or(wanted.evidence_refs, candidate.evidence_refs),
        relations=given_or(wanted.relations, candidate.relations if is_same else ()),
    )


def _said(candidate: Candidate, wanted: PublishChanges, kind: Kind) -> Candidate:
    """The candidate with the content to publish and its keys."""
    if wanted.content is None:
        # The content of a run summary was not checked for secrets as another kind is.
        return replace(candidate, content=check_content(candidate.content, kind))
    content = check_content(wanted.content, _guarded(kind))
    key = key_of(content)
    return replace(candidate, content=content, semantic_key=key.semantic, subject_key=key.subject)


def given_or(given: T | None, kept: T) -> T:
    """The given value, also if it is zero or empty; the kept one if it is None."""
    return kept if given is None else given


def _guarded(kind: Kind) -> Kind:
    """The kind that the content of a person is checked as: never that of a run summary."""
    return Kind.FACT if kind is Kind.RUN_SUMMARY else kind


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """The result of a publication."""

    learning: Learning
    # Contradicting learnings of other scopes; in a prompt the narrower scope wins.
    contradicts: tuple[Learning, ...] = ()
    # False if an existing learning says the same, or the candidate was published before.
    is_new: bool = True
    # Whether an existing learning says the same, which was counted.
    already: bool = False
    reach: Reach | None = None
    neighbours: tuple[Neighbour, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedLearning(Learning):
    """A learning after publication, with the learnings of other scopes that contradict it."""

    # In a prompt the narrower scope wins.
    contradicts: tuple[RelatedLearning, ...] = ()
    # Whether it was published before, and says the same.
    already: Omitted[bool] = None
    # The learnings nearest to it.
    neighbours: tuple[Neighbour, ...] = ()
    # The sessions in which it is injected.
    reach: Omitted[Reach] = None


def published(unit: "Unit", learning: Learning, *, now_ms: int, is_new: bool) -> Published:
    """The result for a learning, with the current contradictions."""
    found = contradictions(unit, learning, now_ms=now_ms, supersedes=learning.supersedes)
    reach = reach_of(unit, learning, learning.scope, now_ms=now_ms)
    return Published(learning=learning, contradicts=found, is_new=is_new, reach=reach)


def publish(
    unit: "Unit",
    candidate_id: str,
    wanted: PublishChanges,
    *,
    by: Decider,
    now_ms: int,
    listeners: Listeners = NO_LISTENERS,
    neighbours: NeighboursOf = NO_NEIGHBOURS,
) -> Published:
    """Publish a candidate and write its journal events; the last call of a unit."""
    publication = Publication(
        unit=unit, by=by, now_ms=now_ms, listeners=listeners, neighbours=neighbours
    )
    result = publication.publish(candidate_id, wanted)
    tell(unit, publication.told, at_ms=now_ms)
    return result


@dataclass(frozen=True, slots=True, kw_only=True)
class Publication:
    """Publishes in one unit, for one person or for the daemon."""

    unit: "Unit"
    by: Decider
    now_ms: int
    listeners: Listeners
    # The neighbours of a statement, for the answer and for a refusal.
    neighbours: NeighboursOf = NO_NEIGHBOURS
    # Notices for `tell` at the end of the unit.
    told: list[LearningNotice] = field(default_factory=list)

    def publish(self, candidate_id: str, wanted: PublishChanges) -> Published:
        """Publish a candidate; a published one answers its learning again."""
        check_changes(wanted)
        candidate = require_candidate(self.unit, candidate_id, lock=True)
        check_undecided(candidate, wanted.version)
        if candidate.state is CandidateState.REJECTED:
            raise decided_error(candidate)
        made = self._made_before(candidate)
        if made is not None:
            return self._settle(made, candidate, is_new=False)
        if candidate.state is CandidateState.PUBLISHED:
            raise decided_error(candidate)
        if candidate.is_expired(self.now_ms):
            raise coded_error("learnings/candidate_expired", candidate_id=candidate_id)
        if wanted.scope is None and self.by.decision is PolicyDecision.MANUAL:
            wanted = replace(wanted, scope=suggested_scope(self.unit, candidate))
        return self._decide(candidate, with_changes(candidate, wanted), wanted)

    def publish_new(self, candidate: Candidate, wanted: PublishChanges) -> Published:
        """Store a new candidate and publish it; what is known already is answered, and not stored."""
        named = replace(wanted, scope=wanted.scope or candidate.scope)
        known = self.known(with_changes(candidate, named), named)
        if known is not None:
            return known
        notice = store(
            self.unit, candidate, by=self.by.principal, now_ms=self.now_ms, listeners=self.listeners
        )
        self.told.extend((notice,) if notice else ())
        return self.publish(candidate.candidate_id, named)

    def known(self, shape: Candidate, wanted: PublishChanges) -> Published | None:
        """The result for a learning that says the same already, which is counted."""
        there = self._said_already(shape, wanted)
        if there is None:
            return None
        counted = self._counted(there)
        result = published(self.unit, counted, now_ms=self.now_ms, is_new=False)
        return replace(result, already=True, neighbours=self._others(shape, counted))

    def _decide(self, candidate: Candidate, shape: Candidate, wanted: PublishChanges) -> Published:
        self.unit.learnings.hold(shape.scope)
        known = self.known(shape, wanted)
        if known is not None:
            self._link(candidate, known.learning)
            return known
        there = None
        if wanted.supersedes is not None:
            there = self.unit.learnings.replacing([wanted.supersedes]).get(wanted.supersedes)
        if there is not None:
            return self._settle(there, candidate, is_new=False)
        target = self._target(wanted.supersedes, shape)
        other = self._in_the_way(shape, wanted)
        if other is not None:
            near = [asdict(it) for it in self.neighbours(self.unit, shape)]
            shown: dict[str, Any] = {"neighbours": near} if near else {}
            raise coded_error("learnings/learning_conflict", learning_id=other.learning_id, **shown)
        learning = self._learning(shape, wanted)
        check_learning(learning)
        return self._save(candidate, learning, target)

    def _said_already(self, shape: Candidate, wanted: PublishChanges) -> Learning | None:
        """A learning that says the same wherever this one would be injected."""
        if wanted.beside:
            return None
        there = duplicate_of(self.unit, shape, now_ms=self.now_ms)
        if there is not None:
            # The learning to supersede may be reworded.
            is_other = there.learning_id != wanted.supersedes or there.content == shape.content
            return there if is_other else None
        if wanted.supersedes is not None:
            return None
        same = stated_in_the_way(self.unit, shape, Relation.SAME, now_ms=self.now_ms)
        return same if same is not None and covers(self.unit, same.scope, shape.scope) else None

    def _counted(self, there: Learning) -> Learning:
        """The learning that was said again, with its count."""
        found = self.unit.learnings.get(there.learning_id, lock=True) or there
        counted = replace(found, said_again=found.said_again + 1)
        self.unit.learnings.update(counted, expected_version=found.version)
        return counted

    def _in_the_way(self, shape: Candidate, wanted: PublishChanges) -> Learning | None:
        """The learning that this one contradicts, unless a person wants both or replaces it."""
        if wanted.beside:
            return None
        now, supersedes = self.now_ms, wanted.supersedes
        other = conflict_with(self.unit, shape, now_ms=now, supersedes=supersedes)
        if other is None and supersedes is None:
            return stated_in_the_way(self.unit, shape, Relation.CONTRADICTS, now_ms=now)
        return other

    def _save(self, candidate: Candidate, learning: Learning, target: Learning | None) -> Published:
        self.unit.learnings.add(learning)
        self.told.append(of_learning(LearningEvent.LEARNING_PUBLISHED, learning))
        if target is not None:
            self._supersede(target, learning)
        told = partial(self.listeners.observer.count, "publications_total", self.by.decision)
        self.unit.after_commit(told)
        return self._settle(learning, candidate, is_new=True)

    def _settle(self, learning: Learning, candidate: Candidate, *, is_new: bool) -> Published:
        self._link(candidate, learning)
        result = published(self.unit, learning, now_ms=self.now_ms, is_new=is_new)
        return replace(result, neighbours=self._others(candidate, learning))

    def _others(self, said: Candidate, learning: Learning) -> tuple[Neighbour, ...]:
        """The neighbours of a statement besides the learning that it became."""
        near = self.neighbours(self.unit, said)
        return tuple(it for it in near if it.learning_id != learning.learning_id)

    def _made_before(self, candidate: Candidate) -> Learning | None:
        """The learning of a candidate from an earlier publication."""
        made = self.unit.learnings.of_candidate(candidate.candidate_id)
        if made is None and candidate.published_learning_id is not None:
            return self.unit.learnings.get(candidate.published_learning_id)
        if made is not None and made.supersedes is not None:
            target = self.unit.learnings.get(made.supersedes, lock=True)
            if target is not None and target.status in LIVE and made.status in LIVE:
                self._supersede(target, made)
        return made

    def _link(self, candidate: Candidate, learning: Learning) -> None:
        """Decide the candidate as published, and link it to its learning."""
        if candidate.published_learning_id == learning.learning_id:
            return
        decided = decide(
            self.unit,
            candidate,
            CandidateState.PUBLISHED,
            by=self.by,
            now_ms=self.now_ms,
            learning_id=learning.learning_id,
        )
        self.told.append(of_candidate(LearningEvent.CANDIDATE_DECIDED, decided))

    def _target(self, learning_id: str | None, shape: Candidate) -> Learning | None:
        """The learning to supersede; it must be live, and its successor must reach as far."""
        if learning_id is None:
            return None
        target = require_learning(self.unit, learning_id, lock=True)
        if target.status not in LIVE:
            raise not_live_error(target)
        check_cover(self.unit, target, shape.scope)
        return target

    def _supersede(self, target: Learning, learning: Learning) -> None:
        ending = Retirement(
            unit=self.unit, by=self.by.principal, now_ms=self.now_ms, listeners=self.listeners
        )
        self.told.extend(ending.supersede(target, learning.learning_id))

    def _learning(self, shape: Candidate, wanted: PublishChanges) -> Learning:
        return reduced(
            Learning,
            shape,
            learning_id=new_id("lrn"),
            published_at_ms=self.now_ms,
            status=LearningStatus(wanted.publish_tier),
            publish_tier=wanted.publish_tier,
            source_candidate_id=shape.candidate_id,
            policy_decision=self.by.decision,
            policy_actor=self.by.actor,
            verification_status=self.by.verification,
            supersedes=wanted.supersedes,
            version=1,
        )


def check_cover(unit: "Unit", target: Learning, scope: LearningScope) -> None:
    """Refuse to supersede a learning for sessions that would not get its successor injected."""
    if not covers(unit, scope, target.scope):
        raise coded_error(
            "learnings/supersede_scope_mismatch",
            learning_id=target.learning_id,
            old=target.scope.key,
            new=scope.key,
        )
