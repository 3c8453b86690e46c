"""A case of a replay: a recorded run, and the two runs that its input gets once more."""

from dataclasses import dataclass

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
