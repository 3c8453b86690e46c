"""Changing the record of a rollout: all that belongs to a change, in one transaction."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from understudy.core.audit import AuditEntry
from understudy.core.clock import Clock
from understudy.core.errors import DamagedRecord
from understudy.core.principal import DAEMON
from understudy.core.request import current_request_id
from understudy.learnings.checks import MAX_EVIDENCE_REFS
from understudy.learnings.events import NO_LISTENERS, LearningNotice, Listeners, tell
from understudy.learnings.model import CapturePath, EvidenceRef, Kind, Origin
from understudy.learnings.proposal import NewCandidate, make_candidate, propose
from understudy.learnings.secrets import secret_reason
from understudy.rollout.model import LifecycleEvent, Rollout, RolloutEventName, Snapshot
from understudy.rollout.observer import RolloutCounters
from understudy.rollout.stages import Stage
from understudy.sessions.journal import EventKind, NewEvent

if TYPE_CHECKING:
    from understudy.rollout.mount_sync import Mounting
    from understudy.storage.unit import Unit


RESOURCE: Final = "rollouts"
# What the audit calls it.
ACTIONS: Final[Mapping[RolloutEventName, str]] = {
    RolloutEventName.PROMOTE: "rollouts.promote",
    RolloutEventName.ROLLOUT_RESULT: "rollouts.result",
    RolloutEventName.REVOKE: "rollouts.revoke",
    RolloutEventName.ROLLBACK: "rollouts.rollback",
    RolloutEventName.HOLD: "rollouts.hold",
    RolloutEventName.RELEASE: "rollouts.release",
    RolloutEventName.DEMOTE: "rollouts.demote",
}

# Ends the trials of a skill that can no longer count; called once a change stands, and never raises.
StopTrials = Callable[[str], None]


def nothing_to_stop(skill_name: str) -> None:
    """Where nothing is tried."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutChanges:
    """Changes rollouts whose rows one unit holds, for one person or for the daemon."""

    unit: "Unit"
    actor: str
    now_ms: int
    mounts: "Mounting"
    observer: RolloutCounters = field(default_factory=RolloutCounters)
    listeners: Listeners = NO_LISTENERS
    stop_trials: StopTrials = nothing_to_stop
    # What people are asked, and what sessions are told, once the unit has done all else.
    asked: list[NewCandidate] = field(default_factory=list)
    told: list[LearningNotice] = field(default_factory=list)

    def begin(self, rollout: Rollout) -> bool:
        """Keep a new rollout; False when its name is taken, or its learning has a live one."""
        if not self.unit.rollouts.add(rollout):
            return False
        self.note(RolloutEventName.PROMOTE, None, rollout)
        return True

    def change(
        self, before: Rollout, after: Rollout, event: RolloutEventName, **about: Any
    ) -> Rollout:
        """Replace a rollout, and keep how it was."""
        self._keep(before)
        changed = replace(after, revision=before.revision + 1, updated_at_ms=self.now_ms)
        if after.status is not before.status:
            changed = replace(changed, stage_began_at_ms=self.now_ms)
        self.unit.rollouts.update(changed, expected_revision=before.revision)
        if (before.is_live, before.tried) != (changed.is_live, changed.tried):
            # Trials of what it was go on for nothing.
            self.unit.after_commit(partial(self.stop_trials, changed.skill_name))
        self.note(event, before, changed, **about)
        return changed

    def _keep(self, before: Rollout) -> None:
        if before.definition.is_lost:
            # Nobody goes back to what cannot be read.
            return
        snapshot = Snapshot(
            skill_name=before.skill_name,
            number=before.revision,
            record=before,
            recorded_at_ms=self.now_ms,
        )
        self.unit.rollouts.add_snapshot(snapshot)

    def note(
        self, event: RolloutEventName, before: Rollout | None, after: Rollout, **about: Any
    ) -> None:
        """Write down what happened, and have all hear of it who are to."""
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
        self.unit.audit.add(self._entry(event, after))
        self.mounts.after(self.unit, after)
        self.unit.after_commit(partial(self.observer.happened, event))
        self.told.append(told_of(self.unit, after, happened))

    def ask(
        self, rollout: Rollout, event: RolloutEventName, reason: str, *, run_ids: Sequence[str] = ()
    ) -> None:
        """Have people look at what the daemon did of itself to a rollout."""
        self.asked.append(asked_about(rollout, event, reason, run_ids))

    def tell(self) -> None:
        """Tell people and the sessions concerned; the last thing that a unit does."""
        put_before_people(self.unit, self.asked, self.listeners, now_ms=self.now_ms)
        tell(self.unit, self.told, at_ms=self.now_ms)

    def _entry(self, event: RolloutEventName, rollout: Rollout) -> AuditEntry:
        return AuditEntry(
            at_ms=self.now_ms,
            actor=self.actor,
            action=ACTIONS[event],
            resource=RESOURCE,
            resource_id=rollout.skill_name,
            version=rollout.revision,
            request_id=current_request_id.get(),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutTransactions:
    """Who changes rollouts, with all that has to hear of a change; the same for everybody."""

    clock: Clock
    mounts: "Mounting"
    observer: RolloutCounters = field(default_factory=RolloutCounters)
    listeners: Listeners = NO_LISTENERS
    stop_trials: StopTrials = nothing_to_stop

    def within(self, unit: "Unit", actor: str) -> RolloutChanges:
        """Changes in one unit, at this moment."""
        return RolloutChanges(
            unit=unit,
            actor=actor,
            now_ms=self.clock.now_ms(),
            mounts=self.mounts,
            observer=self.observer,
            listeners=self.listeners,
            stop_trials=self.stop_trials,
        )


# The daemon has counted, not guessed.
CONFIDENCE: Final = 95
MOST_RUNS: Final = MAX_EVIDENCE_REFS - 1
# What a person is asked to do, by what happened and where the rollout stands then.
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


def asked_about(
    rollout: Rollout, event: RolloutEventName, reason: str, run_ids: Sequence[str]
) -> NewCandidate:
    """What is put before people; it waits until one of them decides."""
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
    """The words with the name of the skill; with an id where a name among them passes for a secret."""
    named = words.format(skill=rollout.skill_name)
    is_fine = secret_reason(named) is None
    return named if is_fine else words.format(skill=f"of {rollout.source_learning_id}")


def put_before_people(
    unit: "Unit", wanted: Sequence[NewCandidate], listeners: Listeners, *, now_ms: int
) -> None:
    """Propose them; no session is told, so no journal is held by it."""
    for each in wanted:
        candidate = make_candidate(each, origin=Origin.DAEMON, now_ms=now_ms)
        propose(unit, candidate, by=DAEMON, now_ms=now_ms, listeners=listeners)


def told_of(unit: "Unit", rollout: Rollout, happened: LifecycleEvent) -> LearningNotice:
    """The event, for the session that the procedure was learned in and that of the run it is about."""
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
