"""How the runs of a case went: by the marker, else by a judge, else by how they ended."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from understudy.rollout.evidence import last_output
from understudy.rollout.replay.judge import Opinion, ReplayJudge
from understudy.rollout.replay.report import Fared, JudgedBy, Verdict
from understudy.rollout.replay.stand_ins import UNRECORDED
from understudy.runs.execute import MAX_RUN_EVENTS
from understudy.runs.model import Run, RunStatus
from understudy.sessions.journal import EventKind
from understudy.sessions.sidechains import spawns_of

if TYPE_CHECKING:
    from understudy.review.policy import JudgeSettings
    from understudy.storage.unit import Unit

SUCCESS = Opinion(verdict=Verdict.SUCCEEDED, reason="")


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedRun:
    """A run that is over, with what of it counts."""

    run: Run
    output: str
    unrecorded_calls: int = 0


def read_ended(unit: "Unit", run: Run) -> EndedRun:
    """What a run left in the journal."""
    return EndedRun(
        run=run,
        output=last_output(unit, run.run_id),
        unrecorded_calls=_unrecorded(unit, run.run_id),
    )


def _unrecorded(unit: "Unit", run_id: str) -> int:
    """How many calls of a run, and of the sidechains that it made, were not answered."""
    results = unit.journal.read(run_id=run_id, kinds=(EventKind.TOOL_RESULT,), limit=MAX_RUN_EVENTS)
    own = sum(str(it.data.get("content", "")).startswith(UNRECORDED) for it in results)
    # Sessions go only a few levels deep.
    return own + sum(_unrecorded(unit, spawn.first_run_id) for spawn in spawns_of(unit, run_id))


@dataclass(frozen=True, slots=True, kw_only=True)
class Measuring:
    """Tells how runs went that were to do the same."""

    # What they were asked; shown to the judge alone.
    task: str
    marker: str | None
    judge: ReplayJudge
    rules: "JudgeSettings"

    async def fared(self, ended: EndedRun) -> Fared:
        """How one of them went."""
        run = ended.run
        judged_by, opinion = await self._opinion(ended)
        return Fared(
            run_id=run.run_id,
            verdict=opinion.verdict,
            judged_by=judged_by,
            reason="" if opinion.verdict is Verdict.SUCCEEDED else opinion.reason,
            tool_calls=run.usage.tool_calls,
            unrecorded_calls=ended.unrecorded_calls,
            input_tokens=run.usage.input_tokens,
            output_tokens=run.usage.output_tokens,
            took_ms=_took_ms(run),
        )

    async def _opinion(self, ended: EndedRun) -> tuple[JudgedBy, Opinion]:
        if ended.run.status is not RunStatus.COMPLETED:
            return JudgedBy.STATUS, _unfinished(ended.run)
        if self.marker is not None:
            return JudgedBy.MARKER, _by_marker(ended, self.marker)
        if not self.rules.enabled:
            return JudgedBy.STATUS, SUCCESS
        return JudgedBy.JUDGE, await self.judge.judge(self.task, ended.output, self.rules)


def _unfinished(run: Run) -> Opinion:
    # A run that somebody stopped says nothing.
    verdict = Verdict.FAILED if run.status is RunStatus.FAILED else Verdict.UNDECIDED
    return Opinion(verdict=verdict, reason=f"the run is {run.status}, not completed")


def _by_marker(ended: EndedRun, marker: str) -> Opinion:
    if marker in ended.output:
        return SUCCESS
    return Opinion(verdict=Verdict.FAILED, reason="the last output lacks the marker")


def _took_ms(run: Run) -> int:
    if run.started_at_ms is None or run.finished_at_ms is None:
        return 0
    return max(0, run.finished_at_ms - run.started_at_ms)
