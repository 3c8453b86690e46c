"""Reports of replays: how each recorded run fares with and without the skill."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from pydantic import TypeAdapter, computed_field

from understudy.rollout.model import Rollout
from understudy.rollout.outcome import SuccessTally, wilson_interval

if TYPE_CHECKING:
    from understudy.storage.unit import Unit

# How many regressed cases a reason names.
MOST_NAMED: Final = 5


class ReplayVerdict(StrEnum):
    """Whether a run did what it was asked."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    UNDECIDED = "undecided"  # it was cancelled, or the judge gave no answer


class JudgedBy(StrEnum):
    """What decided the verdict."""

    MARKER = "marker"  # whether its last output contains the expected marker
    JUDGE = "judge"  # the judge of the learning policy read its last output
    STATUS = "status"  # the status of the run, without marker or judge


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayedRun:
    """The result of one run of a case."""

    run_id: str
    verdict: ReplayVerdict
    judged_by: JudgedBy
    # Why it is no success, in one line.
    reason: str = ""
    tool_calls: int = 0
    # Calls without an answer in the recording.
    unrecorded_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    took_ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayedCase:
    """One recorded run, and the runs of its input without and with the skill."""

    recorded: ReplayedRun
    without_skill: ReplayedRun
    with_skill: ReplayedRun

    @property
    def sides(self) -> tuple[ReplayedRun, ReplayedRun, ReplayedRun]:
        """All three runs."""
        return self.recorded, self.without_skill, self.with_skill

    @computed_field
    @property
    def is_regression(self) -> bool:
        """Whether a case that worked before, or may have, did not succeed with the skill."""
        worked = (self.recorded.verdict, self.without_skill.verdict)
        if self.with_skill.verdict is ReplayVerdict.SUCCEEDED:
            return False
        return any(verdict is not ReplayVerdict.FAILED for verdict in worked)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayTotals:
    """The sums over all runs of one side."""

    successes: int
    tries: int
    tool_calls: int
    unrecorded_calls: int
    input_tokens: int
    output_tokens: int
    took_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayReport:
    """All cases of a replay, with the totals of each side."""

    cases: tuple[ReplayedCase, ...]

    @computed_field
    @property
    def recorded(self) -> ReplayTotals:
        """The totals of the recorded runs."""
        return self._totals(lambda case: case.recorded)

    @computed_field
    @property
    def without_skill(self) -> ReplayTotals:
        """The totals of the runs without the skill."""
        return self._totals(lambda case: case.without_skill)

    @computed_field
    @property
    def with_skill(self) -> ReplayTotals:
        """The totals of the runs with the skill."""
        return self._totals(lambda case: case.with_skill)

    @computed_field
    @property
    def wilson_lower_bound(self) -> float:
        """The success rate with the skill is at least this, with 95 % confidence."""
        return wilson_interval(self._tally).low

    @computed_field
    @property
    def wilson_upper_bound(self) -> float:
        """The success rate with the skill is at most this, with 95 % confidence."""
        return wilson_interval(self._tally).high

    @computed_field
    @property
    def regressions(self) -> tuple[str, ...]:
        """The recorded runs that fare worse with the skill."""
        return tuple(case.recorded.run_id for case in self.cases if case.is_regression)

    @computed_field
    @property
    def is_clean(self) -> bool:
        """Whether nothing fares worse."""
        return not self.regressions

    @property
    def failed_because(self) -> str | None:
        """Why the replay failed; None when it passed."""
        if self.regressions:
            return f"{len(self.regressions)} of {len(self.cases)} cases went worse with the skill"
        if not self.with_skill.successes:
            # Otherwise cases that always fail would pass every replay.
            return "no case succeeded with the skill"
        return None

    @property
    def _tally(self) -> SuccessTally:
        return SuccessTally(successes=self.with_skill.successes, tries=self.with_skill.tries)

    def _totals(self, side: Callable[[ReplayedCase], ReplayedRun]) -> ReplayTotals:
        runs = [side(case) for case in self.cases]
        return ReplayTotals(
            successes=sum(run.verdict is ReplayVerdict.SUCCEEDED for run in runs),
            tries=len(runs),
            tool_calls=sum(run.tool_calls for run in runs),
            unrecorded_calls=sum(run.unrecorded_calls for run in runs),
            input_tokens=sum(run.input_tokens for run in runs),
            output_tokens=sum(run.output_tokens for run in runs),
            took_ms=sum(run.took_ms for run in runs),
        )


def report_json(report: ReplayReport) -> dict[str, Any]:
    """The report as JSON for the row of its trial."""
    kept: dict[str, Any] = TypeAdapter(ReplayReport).dump_python(report, mode="json")
    return kept


def tally_in(report: Mapping[str, Any]) -> SuccessTally:
    """The success tally with the skill in a stored report; 0 of 0 where it cannot be read."""
    totals = report.get("with_skill")
    said = totals if isinstance(totals, Mapping) else {}
    successes, tries = said.get("successes"), said.get("tries")
    if type(successes) is int and type(tries) is int and 0 <= successes <= tries:
        return SuccessTally(successes=successes, tries=tries)
    return SuccessTally(successes=0, tries=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayCase:
    """One case of a replay; both of its runs are started together."""

    trial_id: str
    # The number of the case in its trial, from 1.
    number: int
    recorded_run_id: str
    # The owner of its runs.
    owner_id: str
    # The marker that the output has to contain, if any.
    marker: str | None = None
    without_run_id: str | None = None
    with_run_id: str | None = None
    # The results of all three runs, once they have ended and are judged.
    report: ReplayedCase | None = None
    judged_at_ms: int | None = None

    @property
    def is_begun(self) -> bool:
        """Whether its runs are started."""
        return self.with_run_id is not None

    @property
    def yardstick(self) -> JudgedBy | None:
        """What decided the verdicts of the case; None before it is judged."""
        if self.report is None:
            return None
        if self.marker is not None:
            return JudgedBy.MARKER
        # A run that did not complete is judged by its status alone.
        is_judged = any(it.judged_by is JudgedBy.JUDGE for it in self.report.sides)
        return JudgedBy.JUDGE if is_judged else JudgedBy.STATUS


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayStanding:
    """The combined standing of a definition's replays."""

    # A replay passed in which all cases were judged by a marker or the judge.
    is_vouched_for: bool = False
    # Recorded runs that regressed, and did not succeed since by the same yardstick.
    regressions: tuple[str, ...] = ()


NO_REPLAYS: Final = ReplayStanding()


def replay_standing(unit: "Unit", rollout: Rollout) -> ReplayStanding:
    """The standing of all replays of the current definition in this attempt."""
    worse = unit.replay_cases.regressed(rollout, limit=MOST_NAMED)
    return ReplayStanding(
        is_vouched_for=unit.replay_cases.is_vouched_for(rollout),
        regressions=tuple(dict.fromkeys(case.recorded_run_id for case in worse)),
    )


def replayed(unit: "Unit", rollout: Rollout) -> SuccessTally:
    """The success tally of the newest replay with the skill; 0 of 0 without one."""
    trials = unit.rollout_trials.with_report(rollout.skill_name, rollout.attempt)
    replays = (it for it in trials if it.cases and it.fingerprint == rollout.fingerprint)
    newest = next(replays, None)
    return tally_in({} if newest is None or newest.report is None else newest.report)
