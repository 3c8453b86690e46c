"""Use cases of learnings: list, revoke, supersede, and trace their lineage."""

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Final

from understudy.core import audit
from understudy.core.clock import Clock
from understudy.core.errors import coded_error
from understudy.core.ids import new_id
from understudy.core.page import Page, PageRequest
from understudy.core.principal import Principal
from understudy.learnings.checks import (
    check_confidence,
    check_content,
    check_expiry,
    check_learning,
    check_scope,
)
from understudy.learnings.conflicts import conflict_with, duplicate_of
from understudy.learnings.decisions import OPERATOR, Retirement, not_live_error, require_learning
from understudy.learnings.events import (
    NO_LISTENERS,
    LearningEvent,
    LearningNotice,
    Listeners,
    of_learning,
    tell,
)
from understudy.learnings.guard import NO_LITERALS, SecretGuard
from understudy.learnings.keys import key_of
from understudy.learnings.lineage import Lineage, lineage_of
from understudy.learnings.model import (
    LEARNING,
    LIVE,
    Applies,
    Kind,
    Learning,
    LearningFilter,
    LearningStatus,
    PolicyDecision,
    Sensitivity,
    Verification,
)
from understudy.learnings.publication import Published, check_cover, given_or, published
from understudy.sessions.learning_scopes import LearningScope

if TYPE_CHECKING:
    from understudy.storage.unit import Unit, Units

MAX_REVOKED: Final = 1000
# Letters and digits that a query needs if it is the only filter.
MIN_QUERY: Final = 3
ID_PREFIX: Final = "lrn"
REVOCABLE: Final = frozenset(
    status for status, following in LEARNING.steps.items() if LearningStatus.REVOKED in following
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Replacement:
    """The replacement of a learning; None keeps the value of the learning."""

    content: str
    scope: LearningScope | None = None
    kind: Kind | None = None
    sensitivity: Sensitivity | None = None
    applies: Applies | None = None
    confidence: int | None = None
    expires_at_ms: int | None = None
    # Whether it is published beside other learnings that say the same or contradict it.
    beside: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LearningChanges:
    """Changes to a learning that stays; None keeps its value."""

    applies: Applies | None = None
    sensitivity: Sensitivity | None = None
    expires_at_ms: int | None = None
    # Whether a missing expiry means that the learning never expires.
    ends_never: bool = False

    def of(self, learning: Learning) -> Learning:
        """The changed learning."""
        is_kept = self.expires_at_ms is None and not self.ends_never
        return replace(
            learning,
            applies=self.applies or learning.applies,
            sensitivity=self.sensitivity or learning.sensitivity,
            expires_at_ms=learning.expires_at_ms if is_kept else self.expires_at_ms,
        )


def check_replacement(wanted: Replacement) -> Replacement:
    """Check a replacement by itself; returns it with trimmed content."""
    if wanted.kind is Kind.RUN_SUMMARY:
        raise coded_error("learnings/run_summary_is_daemon_owned", pointer="/kind")
    if wanted.scope is not None:
        check_scope(wanted.scope)
    if wanted.confidence is not None:
        check_confidence(wanted.confidence)
    check_expiry(wanted.expires_at_ms)
    # A person wrote it, so it is checked for secrets whatever kind it replaces.
    return replace(wanted, content=check_content(wanted.content, wanted.kind or Kind.FACT))


def _replace(ending: Retirement, target: Learning, wanted: Replacement) -> Published:
    """Publish the replacement of a learning; the last call of a unit."""
    unit, now_ms = ending.unit, ending.now_ms
    learning = _replacing(target, wanted, now_ms=now_ms)
    if not wanted.beside:
        _require_room(unit, learning, now_ms=now_ms)
    unit.learnings.add(learning)
    told = ending.supersede(target, learning.learning_id)
    count = partial(ending.listeners.observer.count, "publications_total", PolicyDecision.MANUAL)
    unit.after_commit(count)
    answer = published(unit, learning, now_ms=now_ms, is_new=True)
    tell(unit, (of_learning(LearningEvent.LEARNING_PUBLISHED, learning), *told), at_ms=now_ms)
    return answer


def _require_room(unit: "Unit", learning: Learning, *, now_ms: int) -> None:
    """Refuse a replacement that duplicates or contradicts a third learning."""
    same = duplicate_of(unit, learning, now_ms=now_ms)
    if same is not None and same.learning_id != learning.supersedes:
        raise coded_error("learnings/learning_duplicate", learning_id=same.learning_id)
    other = conflict_with(unit, learning, now_ms=now_ms, supersedes=learning.supersedes)
    if other is not None:
        raise coded_error("learnings/learning_conflict", learning_id=other.learning_id)


def _replacing(target: Learning, wanted: Replacement, *, now_ms: int) -> Learning:
    key = key_of(wanted.content)
    learning = Learning(
        learning_id=new_id("lrn"),
        scope=wanted.scope or target.scope,
        kind=wanted.kind or target.kind,
        content=wanted.content,
        semantic_key=key.semantic,
        subject_key=key.subject,
        created_at_ms=target.created_at_ms,
        published_at_ms=now_ms,
        status=LearningStatus.ACTIVE,
        sensitivity=wanted.sensitivity or target.sensitivity,
        applies=wanted.applies or target.applies,
        confidence=given_or(wanted.confidence, target.confidence),
        source=target.source,
        evidence_refs=target.evidence_refs,
        expires_at_ms=given_or(wanted.expires_at_ms, target.expires_at_ms),
        policy_decision=PolicyDecision.MANUAL,
        policy_actor=OPERATOR,
        # The new content was not verified against a source run.
        verification_status=Verification.UNVERIFIED,
        derived_from_untrusted=target.derived_from_untrusted,
        supersedes=target.learning_id,
    )
    check_learning(learning)
    return learning


def _differences(before: Learning, after: Learning) -> Iterator[str]:
    """The changed fields, in words for the audit."""
    if before.applies is not after.applies:
        yield str(after.applies)
    if before.sensitivity is not after.sensitivity:
        yield str(after.sensitivity)
    if before.expires_at_ms != after.expires_at_ms:
        yield f"expires_at_ms {after.expires_at_ms or 'never'}"


@dataclass(frozen=True, slots=True)
class LearningService:
    """Everything a person does with learnings, each in one transaction."""

    units: "Units"
    clock: Clock
    listeners: Listeners = NO_LISTENERS
    # The most learnings that one transaction revokes.
    most_at_once: int = MAX_REVOKED
    guard: SecretGuard = NO_LITERALS

    def get(self, learning_id: str) -> Learning:
        """One learning, or `NotFound`."""
        with self.units.read() as unit:
            return require_learning(unit, learning_id)

    def page(
        self,
        request: PageRequest,
        *,
        narrowed: LearningFilter | None = None,
        newest: bool = False,
    ) -> Page[Learning]:
        """Learnings by id, oldest or newest first."""
        with self.units.read() as unit:
            return unit.learnings.page(
                request, narrowed=narrowed or LearningFilter(), newest=newest
            )

    def lineage(self, learning_id: str, request: PageRequest) -> Lineage:
        """The lineage of a learning, with a page of its uses."""
        with self.units.read() as unit:
            return lineage_of(unit, learning_id, request)

    def revoke(
        self, principal: Principal, learning_id: str, *, reason: str | None = None
    ) -> Learning:
        """Revoke a learning; one that was revoked before stays as it is."""
        given = self.guard.checked_reason(reason)
        with self.units.write() as unit:
            learning = require_learning(unit, learning_id, lock=True)
            if learning.status is LearningStatus.REVOKED:
                return learning
            ending = self._ending(unit, principal)
            revoked, told = ending.revoke(learning, given)
            tell(unit, told, at_ms=ending.now_ms)
            return revoked

    def change(self, principal: Principal, learning_id: str, wanted: LearningChanges) -> Learning:
        """Change when a live learning is injected or found; the same values change nothing."""
        now = self.clock.now_ms()
        check_expiry(wanted.expires_at_ms)
        if wanted.expires_at_ms is not None and wanted.expires_at_ms <= now:
            raise coded_error("learnings/expiry_is_past", pointer="/expires_at_ms")
        with self.units.write() as unit:
            learning = require_learning(unit, learning_id, lock=True)
            if learning.status not in LIVE:
                raise not_live_error(learning)
            changed = wanted.of(learning)
            if changed == learning:
                return learning
            changed = replace(changed, version=learning.version + 1)
            unit.learnings.update(changed, expected_version=learning.version)
            entry = audit.done(
                principal,
                "learnings.change",
                learning_id,
                at_ms=now,
                version=changed.version,
                reason=", ".join(_differences(learning, changed)),
            )
            unit.audit.add(entry)
            tell(unit, (of_learning(LearningEvent.LEARNING_CHANGED, changed),), at_ms=now)
            return changed

    def supersede(self, principal: Principal, learning_id: str, wanted: Replacement) -> Published:
        """Supersede a learning; a retry returns the same replacement."""
        checked = check_replacement(wanted)
        self.guard.check({"/content": checked.content})
        with self.units.write() as unit:
            scope = checked.scope or require_learning(unit, learning_id).scope
            unit.learnings.hold(scope)
            target = require_learning(unit, learning_id, lock=True)
            ending = self._ending(unit, principal)
            there = unit.learnings.replacing([learning_id]).get(learning_id)
            if there is not None:
                if target.status in LIVE:
                    tell(unit, ending.supersede(target, there.learning_id), at_ms=ending.now_ms)
                return published(unit, there, now_ms=ending.now_ms, is_new=False)
            if target.status not in LIVE:
                raise not_live_error(target)
            check_cover(unit, target, scope)
            return _replace(ending, target, checked)

    def revoke_matching(
        self,
        principal: Principal,
        narrowed: LearningFilter,
        *,
        everything: bool = False,
        dry_run: bool = False,
        reason: str | None = None,
    ) -> tuple[Learning, ...]:
        """Revoke all learnings that a filter matches, or none; a dry run only lists them."""
        given = self.guard.checked_reason(reason)
        if not everything:
            _require_narrow(narrowed)
        if dry_run:
            with self.units.read() as unit:
                return self._to_revoke(unit, narrowed)
        with self.units.write() as unit:
            ending = self._ending(unit, principal)
            return _revoke_all(ending, self._to_revoke(unit, narrowed), given)

    def _to_revoke(self, unit: "Unit", narrowed: LearningFilter) -> tuple[Learning, ...]:
        """The matching learnings that are not revoked, by id."""
        statuses = REVOCABLE if narrowed.status is None else REVOCABLE & {narrowed.status}
        found = [
            learning
            for status in statuses
            for learning in unit.learnings.matching(
                replace(narrowed, status=status), limit=self.most_at_once + 1
            )
        ]
        if len(found) > self.most_at_once:
            raise coded_error("learnings/too_many_matches", limit=self.most_at_once)
        return tuple(sorted(found, key=lambda it: it.learning_id))

    def _ending(self, unit: "Unit", principal: Principal) -> Retirement:
        return Retirement(
            unit=unit, by=principal, now_ms=self.clock.now_ms(), listeners=self.listeners
        )


def _require_narrow(narrowed: LearningFilter) -> None:
    """Refuse a filter that matches everything, or nearly so."""
    if narrowed.is_empty:
        raise coded_error("learnings/filter_required")
    query = narrowed.query
    if query is not None and narrowed == LearningFilter(query=query):
        # The prefix is in the id of every learning.
        telling = filter(str.isalnum, query.casefold().replace(ID_PREFIX, ""))
        # A wide character (CJK) counts as two.
        if sum(1 + (unicodedata.east_asian_width(it) == "W") for it in telling) < MIN_QUERY:
            raise coded_error(
                "learnings/filter_required:short_query", pointer="/query", least=MIN_QUERY
            )


def _revoke_all(
    ending: Retirement, learnings: tuple[Learning, ...], reason: str | None
) -> tuple[Learning, ...]:
    revoked: list[Learning] = []
    told: list[LearningNotice] = []
    # Rows are locked in the order of their ids, which avoids deadlocks.
    for found in learnings:
        learning = require_learning(ending.unit, found.learning_id, lock=True)
        if learning.status is not LearningStatus.REVOKED:
            ended, events = ending.revoke(learning, reason)
            revoked.append(ended)
            told.extend(events)
    tell(ending.unit, told, at_ms=ending.now_ms)
    return tuple(revoked)
