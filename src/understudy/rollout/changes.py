"""Changes of a rollout: its row, snapshot, event, audit entry and notices in one transaction."""

import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from understudy.core.audit import AuditEntry, current_request_id
from understudy.core.clock import Clock
from understudy.core.errors import DamagedRecord, coded_error
from understudy.core.principal import DAEMON
from understudy.learnings.checks import MAX_EVIDENCE_REFS
from understudy.learnings.events import NO_LISTENERS, LearningNotice, Listeners, tell
from understudy.learnings.model import CapturePath, EvidenceRef, Kind, Origin
from understudy.learnings.proposal import NewCandidate, make_candidate, propose
from understudy.learnings.secrets import secret_reason
from understudy.rollout.model import (
    LIVE,
    ROLLOUT,
    EvidenceKind,
    LifecycleEvent,
    Proof,
    Rollout,
    RolloutEventName,
    Snapshot,
    Stage,
)
from understudy.rollout.outcome import SkillOutcome
from understudy.sessions.journal import EventKind, NewEvent

if TYPE_CHECKING:
    from understudy.rollout.mounts import MountSync
    from understudy.storage.unit import Unit

RESOURCE: Final = "rollouts"
# The action of an audit entry.
ACTIONS: Final[Mapping[RolloutEventName, str]] = {
    RolloutEventName.PROMOTE: "rollouts.promote",
    RolloutEventName.ROLLOUT_RESULT: "rollouts.result",
    RolloutEventName.REVOKE: "rollouts.revoke",
    RolloutEventName.ROLLBACK: "rollouts.rollback",
    RolloutEventName.HOLD: "rollouts.hold",
    RolloutEventName.RELEASE: "rollouts.release",
    RolloutEventName.DEMOTE: "rollouts.demote",
}
# Only a rollout under way can be held.
HOLDABLE: Final = LIVE - {Stage.ACTIVE}
HELD_BY_HAND: Final = "held by hand"
ATTEMPT_OVER: Final = "the attempt that the daemon held it for is over"
# The daemon has counted, not guessed.
CONFIDENCE: Final = 95
MOST_RUNS: Final = MAX_EVIDENCE_REFS - 1
# The content of the candidate that people decide on, by the event and the stage after it.
ASKED: Final[Mapping[tuple[RolloutEventName, Stage], str]] = {
    (
        RolloutEventName.HOLD,
        Stage.CANARY,
    ): "Look at the canary of the promoted skill {skill}: a run of it"
    " failed, so it is held and offered to nobody. See what the run did; then take the skill back"
    " to draft and mend it, or revoke it.",
    (
        RolloutEventName.HOLD,
        Stage.ACTIVE,
    ): "Look at the promoted skill {skill}: it does worse than its"
    " baseline. It is in force still, as the policy says. See what the failed runs did; then revoke"
    " it, or release it to have it watched anew.",
    (
        RolloutEventName.DEMOTE,
        Stage.REVOKED,
    ): "Look at the promoted skill {skill}: it did worse than its"
    " baseline, so it was taken back. See what the failed runs did; then promote a mended draft, or"
    " roll back to what was in force before.",
    (RolloutEventName.REVOKE, Stage.REVOKED): "Look at the promoted skill {skill}: the time of the"
    " learning that it came from is over, so it was taken back. If the procedure still holds, publish"
    " it anew and promote that one.",
}
# Ends the trials of a skill that no longer count; called after the commit, and never raises.
StopTrials = Callable[[str], None]


@dataclass(slots=True)
class RolloutCounters:
    """Counts events, evidence and uses of rollouts since this process began; thread-safe."""

    _events: Counter[RolloutEventName] = field(default_factory=Counter)
    _evidence: Counter[tuple[EvidenceKind, Proof, bool]] = field(default_factory=Counter)
    _uses: Counter[tuple[Stage, SkillOutcome]] = field(default_factory=Counter)
    _lock: Any = field(default_factory=threading.Lock, repr=False)

    def happened(self, event: RolloutEventName) -> None:
        """Count an event of a rollout."""
        with self._lock:
            self._events[event] += 1

    def shown(self, kind: EvidenceKind, proof: Proof, *, success: bool) -> None:
        """Count a run that was accepted as evidence."""
        with self._lock:
            self._evidence[kind, proof, success] += 1

    def used(self, stage: Stage, outcome: SkillOutcome) -> None:
        """Count a run that used a promoted skill and has ended."""
        with self._lock:
            self._uses[stage, outcome] += 1

    def snapshot(self) -> dict[str, dict[str, int]]:
        """All counters at one moment."""
        with self._lock:
            return {
                "events_total": {str(event): self._events[event] for event in RolloutEventName},
                "evidence_total": {
                    f"{kind}_{proof}_{'success' if success else 'failure'}": self._evidence[
                        kind, proof, success
                    ]
                    for kind in EvidenceKind
                    for proof in Proof
                    for success in (True, False)
                },
                "uses_total": {
                    f"{stage}_{outcome}": self._uses[stage, outcome]
                    for stage in Stage
                    for outcome in SkillOutcome
                },
            }


def nothing_to_stop(skill_name: str) -> None:
    """Stops no trials."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutTransactions:
    """The dependencies of every change of a rollout."""

    clock: Clock
    mounts: "MountSync"
    observer: RolloutCounters = field(default_factory=RolloutCounters)
    listeners: Listeners = NO_LISTENERS
    stop_trials: StopTrials = nothing_to_stop

    def within(self, unit: "Unit", actor: str) -> "RolloutChanges":
        """The changes of one unit, at this moment."""
        return RolloutChanges(self, unit, actor, self.clock.now_ms())


@dataclass(frozen=True, slots=True)
class RolloutChanges:
    """Changes rollouts whose rows are locked in one unit, for one person or for the daemon."""

    transactions: RolloutTransactions
    unit: "Unit"
    actor: str
    now_ms: int
    # Candidates for people and notices for sessions, written at the end of the unit.
    asked: list[NewCandidate] = field(default_factory=list)
    told: list[LearningNotice] = field(default_factory=list)

    def begin(self, rollout: Rollout) -> bool:
        """Add a new rollout; False when its name is taken, or its learning has a live one."""
        if not self.unit.rollouts.add(rollout):
            return False
        self._note(RolloutEventName.PROMOTE, None, rollout)
        return True

    def change(
        self, before: Rollout, after: Rollout, event: RolloutEventName, **about: Any
    ) -> Rollout:
        """Update a rollout, and store a snapshot of its previous state."""
        # A damaged definition is never rolled back to.
        if not before.definition.is_lost:
            self.unit.rollouts.add_snapshot(
                Snapshot(
                    skill_name=before.skill_name,
                    number=before.revision,
                    record=before,
                    recorded_at_ms=self.now_ms,
                )
            )
        changed = replace(after, revision=before.revision + 1, updated_at_ms=self.now_ms)
        if after.status is not before.status:
            changed = replace(changed, stage_began_at_ms=self.now_ms)
        self.unit.rollouts.update(changed, expected_version=before.revision)
        if (before.is_live, before.tried) != (changed.is_live, changed.tried):
            # Trials of the former definition no longer count.
            self.unit.after_commit(partial(self.transactions.stop_trials, changed.skill_name))
        self._note(event, before, changed, **about)
        return changed

    def hold(self, rollout: Rollout, reason: str | None) -> Rollout:
        """Hold a rollout; one that a person holds already stays as it is."""
        if rollout.status not in HOLDABLE:
            raise coded_error(
                "rollout/rollout_not_on_its_way",
                status=str(rollout.status),
                skill_name=rollout.skill_name,
            )
        if rollout.held_reason is not None and rollout.is_held_by_hand:
            return rollout
        # A person takes over a hold of the daemon, which would end with the attempt.
        return self._hold(rollout, reason or HELD_BY_HAND, by_hand=True)

    def hold_for_review(
        self, rollout: Rollout, reason: str, *, run_ids: Sequence[str] = ()
    ) -> Rollout:
        """Hold a rollout because of failed runs, and ask people to review it.

        An active skill stays in force: the hold means that somebody has to decide.
        """
        if rollout.held_reason is not None:
            return rollout
        held = self._hold(rollout, reason, by_hand=False)
        self.ask(held, RolloutEventName.HOLD, reason, run_ids=run_ids)
        return held

    def release(self, rollout: Rollout, reason: str | None) -> Rollout:
        """Release a held rollout; one that is not held stays as it is."""
        if rollout.held_reason is None:
            return rollout
        free = replace(rollout, held_reason=None, is_held_by_hand=False)
        return self.change(rollout, free, RolloutEventName.RELEASE, reason=reason)

    def end_attempt(self, rollout: Rollout) -> Rollout:
        """Release a hold of the daemon for an attempt that is over; a person's hold stays."""
        return rollout if rollout.is_held_by_hand else self.release(rollout, ATTEMPT_OVER)

    def revoke(self, rollout: Rollout, reason: str | None) -> Rollout:
        """Revoke a rollout; one that is revoked already stays as it was."""
        if not rollout.is_live:
            return rollout
        free = self.end_attempt(rollout)
        return self.change(
            free, self._revoked(free, reason), RolloutEventName.REVOKE, reason=reason
        )

    def demote(self, rollout: Rollout, reason: str, *, run_ids: Sequence[str] = ()) -> Rollout:
        """Revoke an active skill that does worse than its baseline, and ask people to look at it."""
        if rollout.status is not Stage.ACTIVE:
            return rollout
        free = self.end_attempt(rollout)
        demoted = replace(self._revoked(free, reason), is_demoted=True)
        demoted = self.change(free, demoted, RolloutEventName.DEMOTE, reason=reason)
        self.ask(demoted, RolloutEventName.DEMOTE, reason, run_ids=run_ids)
        return demoted

    def ask(
        self, rollout: Rollout, event: RolloutEventName, reason: str, *, run_ids: Sequence[str] = ()
    ) -> None:
        """Ask people to review what the daemon did to a rollout by itself."""
        self.asked.append(review_candidate(rollout, event, reason, run_ids))

    def tell(self) -> None:
        """Write candidates and notices; the last thing that a unit does, as it locks journals."""
        for each in self.asked:
            candidate = make_candidate(each, origin=Origin.DAEMON, now_ms=self.now_ms)
            listeners = self.transactions.listeners
            propose(self.unit, candidate, by=DAEMON, now_ms=self.now_ms, listeners=listeners)
        tell(self.unit, self.told, at_ms=self.now_ms)

    def _hold(self, rollout: Rollout, reason: str, *, by_hand: bool) -> Rollout:
        held = replace(rollout, held_reason=reason, is_held_by_hand=by_hand)
        return self.change(rollout, held, RolloutEventName.HOLD, reason=reason)

    def _revoked(self, rollout: Rollout, reason: str | None) -> Rollout:
        ROLLOUT.check(rollout.status, Stage.REVOKED)
        return replace(
            rollout, status=Stage.REVOKED, revoked_at_ms=self.now_ms, revoked_reason=reason
        )

    def _note(
        self, event: RolloutEventName, before: Rollout | None, after: Rollout, **about: Any
    ) -> None:
        """Write the event and the audit entry; mount, count and tell after the commit."""
        happened = LifecycleEvent(
            skill_name=after.skill_name,
            event=event,
            recorded_at_ms=self.now_ms,
            actor=self.actor,
            from_status=None if before is None else before.status,
            to_status=after.status,
            definition_fingerprint=after.fingerprint,
            **about,
        )
        self.unit.rollouts.add_event(happened)
        self.unit.audit.add(
            AuditEntry(
                at_ms=self.now_ms,
                actor=self.actor,
                action=ACTIONS[event],
                resource=RESOURCE,
                resource_id=after.skill_name,
                version=after.revision,
                request_id=current_request_id.get(),
            )
        )
        self.transactions.mounts.after(self.unit, after)
        self.unit.after_commit(partial(self.transactions.observer.happened, event))
        self.told.append(_notice(self.unit, after, happened))


def review_candidate(
    rollout: Rollout, event: RolloutEventName, reason: str, run_ids: Sequence[str]
) -> NewCandidate:
    """The candidate that asks people to look at a rollout; it stays open until one decides."""
    runs = (EvidenceRef(run_id=run_id) for run_id in run_ids[:MOST_RUNS])
    return NewCandidate(
        scope=rollout.source_scope,
        kind=Kind.PROCEDURE,
        content=_content(ASKED[event, rollout.status], rollout),
        confidence=CONFIDENCE,
        evidence_refs=(EvidenceRef(note=reason), *runs),
        capture_path=CapturePath.ROLLOUT,
    )


def _content(words: str, rollout: Rollout) -> str:
    """The text with the skill's name; with the learning's id where the name looks like a secret."""
    named = words.format(skill=rollout.skill_name)
    is_fine = secret_reason(named) is None
    return named if is_fine else words.format(skill=f"of {rollout.source_learning_id}")


def _notice(unit: "Unit", rollout: Rollout, happened: LifecycleEvent) -> LearningNotice:
    """The notice of an event, for the session of the source learning and that of the event's run."""
    data = {
        "what": f"rollout_{happened.event}".replace("rollout_rollout_", "rollout_"),
        "learning_id": rollout.source_learning_id,
        "skill_name": rollout.skill_name,
        "status": str(rollout.status),
        "run_id": happened.run_id,
    }
    sessions = {_source_session(unit, rollout.source_learning_id), happened.session_id}
    return LearningNotice(
        session_ids=frozenset(filter(None, sessions)),
        event=NewEvent(
            kind=EventKind.LEARNING,
            data={name: value for name, value in data.items() if value is not None},
        ),
    )


def _source_session(unit: "Unit", learning_id: str) -> str | None:
    try:
        learning = unit.learnings.get(learning_id)
    except DamagedRecord:
        return None
    return None if learning is None else learning.source.session_id
