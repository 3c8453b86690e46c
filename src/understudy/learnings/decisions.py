"""Ends of candidates and learnings: decided, expired, revoked, superseded, and the audit of it."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from understudy.core import audit
from understudy.core.clock import Clock
from understudy.core.errors import UnderstudyError, coded_error, undamaged
from understudy.core.principal import DAEMON, Principal
from understudy.learnings.events import (
    LearningEvent,
    LearningNotice,
    Listeners,
    of_candidate,
    of_learning,
    tell,
)
from understudy.learnings.model import (
    CANDIDATE,
    EXPIRED,
    LEARNING,
    OPEN,
    AutomationReview,
    Candidate,
    CandidateState,
    Expired,
    Learning,
    LearningStatus,
    PolicyDecision,
    Verification,
)

if TYPE_CHECKING:
    from understudy.storage.unit import Unit, Units

# The policy actor of a manual decision; candidate and audit name the person.
OPERATOR: Final = "operator"
# A batch holds the write lock, so it is short.
BATCH: Final = 20
# Longer than SQLite's busy back-off, so that a waiting writer gets the lock.
PAUSE_S: Final = 0.2
# The remaining ones are left to the next pass.
MOST_AT_ONCE: Final = 1_000
# Audit actions by status.
ACTIONS: Final = {
    LearningStatus.REVOKED: "learnings.revoke",
    LearningStatus.SUPERSEDED: "learnings.supersede",
    LearningStatus.PROVISIONAL: "learnings.restore",
    LearningStatus.ACTIVE: "learnings.restore",
}
_ACTIONS: Final = {
    CandidateState.PUBLISHED: "learning_candidates.publish",
    CandidateState.REJECTED: "learning_candidates.reject",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Decider:
    """A person, or the daemon under a policy."""

    principal: Principal
    decision: PolicyDecision
    actor: str
    verification: Verification = Verification.UNVERIFIED
    # The automation review, where automation decides.
    review: AutomationReview | None = None


def by_hand(principal: Principal) -> Decider:
    """The decider for a person."""
    return Decider(principal=principal, decision=PolicyDecision.MANUAL, actor=OPERATOR)


def by_policy(
    review: AutomationReview | None = None, *, verification: Verification = Verification.UNVERIFIED
) -> Decider:
    """The decider for the daemon under a policy."""
    return Decider(
        principal=DAEMON,
        decision=PolicyDecision.AUTOMATIC,
        actor=DAEMON.user_id,
        verification=verification,
        review=review,
    )


def require_candidate(unit: "Unit", candidate_id: str, *, lock: bool = False) -> Candidate:
    """The candidate, or `NotFound`."""
    candidate = unit.candidates.get(candidate_id, lock=lock)
    if candidate is None:
        raise coded_error("learnings/candidate_not_found", candidate_id=candidate_id)
    return candidate


def check_undecided(candidate: Candidate, version: int | None) -> None:
    """Refuse to repeat a decision to a person who saw a version before it; None refuses nothing."""
    if version is not None and candidate.state not in OPEN and candidate.version != version:
        raise decided_error(candidate)


def decided_error(candidate: Candidate) -> UnderstudyError:
    """The error for a candidate that was decided before."""
    if candidate.state is CandidateState.REJECTED:
        return coded_error(
            "learnings/candidate_rejected",
            candidate_id=candidate.candidate_id,
            decided_by=candidate.decided_by,
        )
    return coded_error(
        "learnings/candidate_published",
        candidate_id=candidate.candidate_id,
        learning_id=candidate.published_learning_id,
        decided_by=candidate.decided_by,
    )


def awaiting_evidence(unit: "Unit", candidate: Candidate, *, lock: bool = False) -> Learning | None:
    """The learning of a candidate, if its verification waits for the end of the source run."""
    learning_id = candidate.published_learning_id
    learning = None if learning_id is None else unit.learnings.get(learning_id, lock=lock)
    if learning is None or learning.source_candidate_id != candidate.candidate_id:
        return None
    is_waiting = learning.verification_status is Verification.PENDING
    return learning if is_waiting and learning.status is LearningStatus.PROVISIONAL else None


def decide(
    unit: "Unit",
    candidate: Candidate,
    state: CandidateState,
    *,
    by: Decider,
    now_ms: int,
    reason: str | None = None,
    learning_id: str | None = None,
) -> Candidate:
    """Write the decision about a candidate whose row this unit has locked."""
    CANDIDATE.check(candidate.state, state)
    decided = replace(
        candidate,
        state=state,
        published_learning_id=learning_id,
        decided_at_ms=now_ms,
        decided_by=by.principal.user_id,
        decision_reason=reason,
        automation_review=by.review or candidate.automation_review,
    )
    note = learning_id or reason
    return save_candidate(
        unit, candidate, decided, _ACTIONS[state], by=by.principal, now_ms=now_ms, reason=note
    )


def save_candidate(
    unit: "Unit",
    before: Candidate,
    after: Candidate,
    action: str,
    *,
    by: Principal,
    now_ms: int,
    reason: str | None = None,
) -> Candidate:
    """Write a changed candidate as its next version, with its audit entry."""
    saved = replace(after, version=before.version + 1)
    unit.candidates.update(saved, expected_version=before.version)
    unit.audit.add(
        audit.done(
            by, action, saved.candidate_id, at_ms=now_ms, version=saved.version, reason=reason
        )
    )
    return saved


def reject(
    unit: "Unit",
    candidate_id: str,
    *,
    by: Decider,
    now_ms: int,
    reason: str | None = None,
    version: int | None = None,
) -> Candidate:
    """Reject a candidate; one that was rejected before stays as it is."""
    check_undecided(require_candidate(unit, candidate_id, lock=True), version)
    rejected, told = reject_with_notices(unit, candidate_id, by=by, now_ms=now_ms, reason=reason)
    tell(unit, told, at_ms=now_ms)
    return rejected


def reject_with_notices(
    unit: "Unit", candidate_id: str, *, by: Decider, now_ms: int, reason: str | None = None
) -> tuple[Candidate, tuple[LearningNotice, ...]]:
    """Reject a candidate, and answer the notices that `tell` writes at the end of the unit."""
    candidate = require_candidate(unit, candidate_id, lock=True)
    if candidate.state is CandidateState.REJECTED:
        return candidate, ()
    if candidate.state is CandidateState.PUBLISHED:
        raise decided_error(candidate)
    rejected = decide(unit, candidate, CandidateState.REJECTED, by=by, now_ms=now_ms, reason=reason)
    return rejected, (of_candidate(LearningEvent.CANDIDATE_DECIDED, rejected),)


async def keep_expiring(
    units: "Units", clock: Clock, *, every_s: float, pause_s: float = PAUSE_S
) -> None:
    """Expire candidates forever, with a pause between batches for other writers."""
    while True:
        await asyncio.sleep(every_s)
        batches = expire_in_batches(units, clock)
        while True:
            closed = await asyncio.to_thread(next, batches, None)
            if closed is None:
                break
            await asyncio.sleep(pause_s)


def expire_in_batches(
    units: "Units", clock: Clock, *, batch: int = BATCH, most: int = MOST_AT_ONCE
) -> Iterator[int]:
    """Reject expired candidates in batches; yields the number of each batch."""
    last: Expired | None = None
    rejected = 0
    while rejected < most:
        now_ms = clock.now_ms()
        # Mostly nothing has expired, and a read takes no write lock.
        with units.read() as unit:
            found = unit.candidates.expired(now_ms=now_ms, limit=batch, after=last)
        if not found:
            return
        with units.write() as unit:
            closed = _reject(unit, found, now_ms=now_ms)
        rejected += closed
        # Candidates that do not decode stay, and the cursor moves past them.
        last = found[-1]
        yield closed


def _reject(unit: "Unit", found: tuple[Expired, ...], *, now_ms: int) -> int:
    told: list[LearningNotice] = []
    # Rows are locked in the order of their ids, which avoids deadlocks.
    for candidate_id in sorted(it.candidate_id for it in found):
        candidate = undamaged(unit.candidates.get, candidate_id, lock=True)
        if candidate is not None and candidate.state in OPEN:
            told += reject_with_notices(
                unit, candidate_id, by=by_policy(), now_ms=now_ms, reason=EXPIRED
            )[1]
    tell(unit, told, at_ms=now_ms)
    return len(told)


def require_learning(unit: "Unit", learning_id: str, *, lock: bool = False) -> Learning:
    """The learning, or `NotFound`."""
    learning = unit.learnings.get(learning_id, lock=lock)
    if learning is None:
        raise coded_error("learnings/learning_not_found", learning_id=learning_id)
    return learning


def not_live_error(target: Learning) -> UnderstudyError:
    """The error for superseding a learning that was revoked or superseded before."""
    if target.status is LearningStatus.REVOKED:
        return coded_error("learnings/learning_revoked", learning_id=target.learning_id)
    return coded_error(
        "learnings/learning_superseded",
        learning_id=target.learning_id,
        superseded_by=target.superseded_by,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Retirement:
    """Revokes or supersedes learnings whose rows one unit has locked."""

    unit: "Unit"
    by: Principal
    now_ms: int
    listeners: Listeners

    def revoke(
        self, learning: Learning, reason: str | None, *, is_undone: bool = False
    ) -> tuple[Learning, tuple[LearningNotice, ...]]:
        """Revoke a learning; answers it and the notices for `tell`."""
        changed = replace(
            learning,
            status=LearningStatus.REVOKED,
            revoked_at_ms=self.now_ms,
            revoked_reason=reason,
            revoked_by=self.by.user_id,
            undone_at_ms=self.now_ms if is_undone else None,
        )
        linked = self._linked(learning, changed)
        ended = self._end(learning, changed)
        return ended, (*linked, of_learning(LearningEvent.LEARNING_REVOKED, ended))

    def supersede(self, learning: Learning, replacement_id: str) -> tuple[LearningNotice, ...]:
        """Mark a learning as superseded; answers the notices for `tell`."""
        changed = replace(learning, status=LearningStatus.SUPERSEDED, superseded_by=replacement_id)
        linked = self._linked(learning, changed)
        ended = self._end(learning, changed, note=replacement_id)
        return (*linked, of_learning(LearningEvent.LEARNING_SUPERSEDED, ended))

    def restore(self, learning: Learning) -> tuple[LearningNotice, ...]:
        """Make a superseded learning live again, as it was; answers the notices for `tell`."""
        changed = replace(
            learning, status=LearningStatus(learning.publish_tier), superseded_by=None
        )
        LEARNING.check(learning.status, changed.status)
        restored = self._end(learning, changed)
        return (of_learning(LearningEvent.LEARNING_RESTORED, restored),)

    def _linked(self, learning: Learning, changed: Learning) -> tuple[LearningNotice, ...]:
        """Call the hooks of what depends on the learning, before it is ended."""
        LEARNING.check(learning.status, changed.status)
        hooks = self.listeners.linked
        return tuple(told for hook in hooks for told in hook(self.unit, self.by, learning))

    def _end(self, learning: Learning, changed: Learning, *, note: str | None = None) -> Learning:
        ended = replace(changed, version=learning.version + 1)
        self.unit.learnings.update(ended, expected_version=learning.version)
        entry = audit.done(
            self.by,
            ACTIONS[ended.status],
            ended.learning_id,
            at_ms=self.now_ms,
            version=ended.version,
            reason=note,
        )
        self.unit.audit.add(entry)
        return ended
