"""A trial: exactly one definition, executed by the daemon itself, and what came of it."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from understudy.core.records import JsonObject
from understudy.rollout.model import EvidenceKind, Rollout

# How many of those that are under way are looked at in one go.
BATCH: Final = 200


class TrialState(StrEnum):
    """Whether a trial is over, and how it ended."""

    PENDING = "pending"
    PASSED = "passed"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One execution of a definition, in a session of its own."""

    trial_id: str
    skill_name: str
    attempt: int
    fingerprint: str
    kind: EvidenceKind
    # What the output of the run has to contain; "" where anything will do.
    marker: str
    actor: str
    created_at_ms: int
    state: TrialState = TrialState.PENDING
    # What executes it; None before it was started.
    run_id: str | None = None
    session_id: str | None = None
    # Recorded runs that are run again, each as JSON; none for a plain trial.
    cases: tuple[JsonObject, ...] = ()
    report: JsonObject | None = None
    # Why it failed, or counts for nothing, in one line.
    reason: str | None = None
    ended_at_ms: int | None = None
    # The commit that the workspace stood at when it began; None where it has none.
    workspace_digest: str | None = None

    @property
    def tried(self) -> tuple[int, str]:
        """The attempt and the definition that it is about."""
        return self.attempt, self.fingerprint

    def is_about(self, rollout: Rollout | None) -> bool:
        """Whether a rollout is still what is tried."""
        return rollout is not None and rollout.is_live and rollout.tried == self.tried
