"""Ends of candidates and learnings: decided, expired, revoked, superseded, and the audit of it."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from understudy.core import audit
from understudy.core.clock import Clock
from understudy.core.errors import DamagedRecord, coded_error
from understudy.core.principal import DAEMON, Principal
from understudy.learnings.events import (
    LearningNotice,
    Listeners,
    What,
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

# What a learning names as its actor; which person it was, the candidate and the audit say.
OPERATOR: Final = "operator"
# Each batch holds up whoever else wants to write, so it is short.
BATCH: Final = 20
# Longer than those sleep who wait for their turn at SQLite, so that they get it.
PAUSE_S: Final = 0.2
# What is left then is left to the next look.
MOST_AT_ONCE: Final = 1_000
# What the audit calls it.
ACTIONS: Final = {
    LearningStatus.REVOKED: "learnings.revoke",
    LearningStatus.SUPERSEDED: "learnings.supersede",
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
    # What automation made of the candidate, where that is what decides.
    review: AutomationReview | None = None


def by_hand(principal: Principal) -> Decider:
    """A person decides."""
    return Decider(principal=principal, decision=PolicyDecision.MANUAL, actor=OPERATOR)


def by_policy(
    review: AutomationReview | None = None, *, verification: Verification = Verification.UNVERIFIED
) -> Decider:
    """The daemon decides."""
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
    """Close a candidate whose row this unit holds."""
    CANDIDATE.check(candidate.state, state)
    decided = replace(
        candidate,
        state=state,
        published_learning_id=learning_id,
        decided_at_ms=now_ms,
        decided_by=by.principal.user_id,
        decision_reason=reason,
        automation_review=by.review or candidate.automation_review,
        version=candidate.version + 1,
    )
    unit.candidates.update(decided, expected_version=candidate.version)
    action = _ACTIONS[state]
    entry = audit.done(
        by.principal,
        action,
        candidate.candidate_id,
        at_ms=now_ms,
        version=decided.version,
        reason=learning_id,
    )
    unit.audit.add(entry)
    return decided


def reject(
    unit: "Unit", candidate_id: str, *, by: Decider, now_ms: int, reason: str | None = None
) -> Candidate:
    """Reject a candidate; one that was rejected before stays as it is."""
    rejected, told = reject_quietly(unit, candidate_id, by=by, now_ms=now_ms, reason=reason)
    tell(unit, told, at_ms=now_ms)
    return rejected


def reject_quietly(
    unit: "Unit", candidate_id: str, *, by: Decider, now_ms: int, reason: str | None = None
) -> tuple[Candidate, tuple[LearningNotice, ...]]:
    """The same, with what is still to be told once the unit has done everything else."""
    candidate = require_candidate(unit, candidate_id, lock=True)
    if candidate.state is CandidateState.REJECTED:
        return candidate, ()
    if candidate.state is CandidateState.PUBLISHED:
        raise coded_error(
            "learnings/candidate_published",
            candidate_id=candidate_id,
            learning_id=candidate.published_learning_id,
        )
    rejected = decide(unit, candidate, CandidateState.REJECTED, by=by, now_ms=now_ms, reason=reason)
    return rejected, (of_candidate(What.CANDIDATE_DECIDED, rejected),)


async def keep_expiring(
    units: "Units", clock: Clock, *, every_s: float, pause_s: float = PAUSE_S
) -> None:
    """Look now and then, for ever, and let others in between two batches."""
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
    """Reject what is past its time, and tell after each batch how many that were."""
    last: Expired | None = None
    rejected = 0
    while rejected < most:
        now_ms = clock.now_ms()
        # Mostly there is nothing, and to find that out nobody has to wait.
        with units.read() as unit:
            found = unit.candidates.expired(now_ms=now_ms, limit=batch, after=last)
        if not found:
            return
        with units.write() as unit:
            closed = _reject(unit, found, now_ms=now_ms)
        rejected += closed
        # Those that cannot be read stay, and are gone past.
        last = found[-1]
        yield closed


def _reject(unit: "Unit", found: tuple[Expired, ...], *, now_ms: int) -> int:
    told: list[LearningNotice] = []
    # In the order of their ids, as all do who hold several.
    for candidate_id in sorted(it.candidate_id for it in found):
        if _is_open(unit, candidate_id):
            told += reject_quietly(
                unit, candidate_id, by=by_policy(), now_ms=now_ms, reason=EXPIRED
            )[1]
    tell(unit, told, at_ms=now_ms)
    return len(told)


def _is_open(unit: "Unit", candidate_id: str) -> bool:
    """Whether there is still something to decide; somebody may have while the row was waited for."""
    try:
        candidate = unit.candidates.get(candidate_id, lock=True)
    except DamagedRecord:
        return False
    return candidate is not None and candidate.state in OPEN


def require_learning(unit: "Unit", learning_id: str, *, lock: bool = False) -> Learning:
    """The learning, or `NotFound`."""
    learning = unit.learnings.get(learning_id, lock=lock)
    if learning is None:
        raise coded_error("learnings/learning_not_found", learning_id=learning_id)
    return learning


@dataclass(frozen=True, slots=True, kw_only=True)
class Retirement:
    """Ends learnings whose rows one unit holds, for one person or for the daemon."""

    unit: "Unit"
    by: Principal
    now_ms: int
    listeners: Listeners

    def revoke(
        self, learning: Learning, reason: str | None
    ) -> tuple[Learning, tuple[LearningNotice, ...]]:
        """Revoke one; answers it, and what is to be told once the unit has done all else."""
        changed = replace(
            learning,
            status=LearningStatus.REVOKED,
            revoked_at_ms=self.now_ms,
            revoked_reason=reason,
            revoked_by=self.by.user_id,
        )
        linked = self._linked(learning, changed)
        ended = self._end(learning, changed)
        return ended, (*linked, of_learning(What.LEARNING_REVOKED, ended))

    def supersede(self, learning: Learning, replacement_id: str) -> tuple[LearningNotice, ...]:
        """Let another take the place of one; answers what is to be told."""
        changed = replace(learning, status=LearningStatus.SUPERSEDED, superseded_by=replacement_id)
        linked = self._linked(learning, changed)
        ended = self._end(learning, changed, note=replacement_id)
        return (*linked, of_learning(What.LEARNING_SUPERSEDED, ended))

    def _linked(self, learning: Learning, changed: Learning) -> tuple[LearningNotice, ...]:
        """Have what hangs on it go first."""
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
