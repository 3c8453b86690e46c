"""Putting what the daemon did of itself before people, as an item of the review queue."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from understudy.core.principal import DAEMON
from understudy.learnings.checks import MAX_EVIDENCE_REFS
from understudy.learnings.listeners import Listeners
from understudy.learnings.making import NewCandidate, make_candidate
from understudy.learnings.model import CapturePath, EvidenceRef, Kind, Origin
from understudy.learnings.proposing import propose
from understudy.learnings.secrets import secret_reason
from understudy.rollout.model import EventName, Rollout
from understudy.rollout.stages import Stage

if TYPE_CHECKING:
    from understudy.storage.unit import Unit

# The daemon has counted, not guessed.
CONFIDENCE: Final = 95
MOST_RUNS: Final = MAX_EVIDENCE_REFS - 1
# What a person is asked to do, by what happened and where the rollout stands then.
ASKED: Final[Mapping[tuple[EventName, Stage], str]] = {
    (EventName.HOLD, Stage.CANARY): "Look at the canary of the promoted skill {skill}: a run of it"
    " failed, so it is held and offered to nobody. See what the run did; then take the skill back"
    " to draft and mend it, or revoke it.",
    (EventName.HOLD, Stage.ACTIVE): "Look at the promoted skill {skill}: it does worse than its"
    " baseline. It is in force still, as the policy says. See what the failed runs did; then revoke"
    " it, or release it to have it watched anew.",
    (EventName.DEMOTE, Stage.REVOKED): "Look at the promoted skill {skill}: it did worse than its"
    " baseline, so it was taken back. See what the failed runs did; then promote a mended draft, or"
    " roll back to what was in force before.",
    (EventName.REVOKE, Stage.REVOKED): "Look at the promoted skill {skill}: the time of the"
    " learning that it came from is over, so it was taken back. If the procedure still holds, publish"
    " it anew and promote that one.",
}


def asked_about(
    rollout: Rollout, event: EventName, reason: str, run_ids: Sequence[str]
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
