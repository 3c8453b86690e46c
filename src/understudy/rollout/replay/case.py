"""A case of a replay: a recorded run, and the two runs that its input gets once more."""

from dataclasses import dataclass
from typing import Protocol

from understudy.rollout.model import Rollout
from understudy.rollout.replay.report import CaseReport, JudgedBy


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayCase:
    """One row of a replay; its runs are begun together."""

    trial_id: str
    # Its place among the cases of the trial, from 1.
    number: int
    recorded_run_id: str
    # Whom its runs belong to.
    owner_id: str
    # What the output has to contain, where anything is said.
    marker: str | None = None
    without_run_id: str | None = None
    with_run_id: str | None = None
    # How all three went, once they have ended and were judged, and when that was.
    report: CaseReport | None = None
    judged_at_ms: int | None = None

    @property
    def is_begun(self) -> bool:
        """Whether its runs are there."""
        return self.with_run_id is not None

    @property
    def yardstick(self) -> JudgedBy | None:
        """What its runs were held against; None before they were judged."""
        if self.report is None:
            return None
        if self.marker is not None:
            return JudgedBy.MARKER
        # A run that did not complete is judged by that alone, whatever the others are.
        is_judged = any(it.judged_by is JudgedBy.JUDGE for it in self.report.sides)
        return JudgedBy.JUDGE if is_judged else JudgedBy.STATUS


class ReplayCaseStore(Protocol):
    """The cases of replays."""

    def add(self, case: ReplayCase) -> None: ...

    def update(self, case: ReplayCase) -> None:
        """Replace a case of a trial that this unit holds."""
        ...

    def of_trial(self, trial_id: str) -> tuple[ReplayCase, ...]:
        """All cases of a trial, in order."""
        ...

    def of_run(self, run_id: str) -> ReplayCase | None:
        """The case that a run is one of the two new runs of."""
        ...

    def regressed(self, rollout: Rollout, *, limit: int) -> tuple[ReplayCase, ...]:
        """Cases that fared worse with a definition, and no better since by the same yardstick.

        Of the attempt and the fingerprint that a rollout has now, the one judged first to begin
        with; also of replays that are under way, or came to no end.
        """
        ...

    def is_vouched_for(self, rollout: Rollout) -> bool:
        """Whether a replay of it passed in which more than their end spoke for all cases."""
        ...
