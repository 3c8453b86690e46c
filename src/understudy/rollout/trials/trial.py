"""A trial: exactly one definition, executed by the daemon itself, and what came of it."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Protocol

from understudy.core.page import Page, PageRequest
from understudy.rollout.model import EvidenceKind, Rollout
from understudy.sessions.model import JsonObject

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


class TrialStore(Protocol):
    """Trials by id."""

    def get(self, trial_id: str, *, lock: bool = False) -> Trial | None:
        """One trial; `lock` holds its row until the unit ends."""
        ...

    def add(self, trial: Trial) -> None: ...

    def update(self, trial: Trial) -> bool:
        """Replace a trial that is pending; False when it is over, and then nothing changes."""
        ...

    def of_run(self, run_id: str) -> Trial | None:
        """The trial that a run executes; asked at the end of every run."""
        ...

    def pending(self, *, limit: int, skill_name: str | None = None) -> tuple[Trial, ...]:
        """Trials that are not over, of one skill or of all, oldest first."""
        ...

    def count_pending(self, skill_name: str, attempt: int, fingerprint: str) -> int:
        """How many trials of a definition are not over; those that cannot be read among them."""
        ...

    def page(self, skill_name: str, request: PageRequest) -> Page[Trial]:
        """Trials of a skill, newest first."""
        ...

    def newest_marker(self, skill_name: str, attempt: int, fingerprint: str) -> str:
        """What the newest trial of a definition in an attempt expected that expected anything;
        "" where none did. Replays expect something of recorded runs, and are left out."""
        ...

    def with_report(self, skill_name: str, attempt: int) -> tuple[Trial, ...]:
        """Trials of an attempt that are over and have a report, newest first; at most fifty."""
        ...
