"""The replay worker: judges cases when their runs have ended, and starts the next ones.

All progress is in rows, so any daemon continues where another stopped.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Final

import structlog

from understudy.core.bell import Bell
from understudy.core.clock import Clock
from understudy.core.errors import DatabaseUnavailable, UnderstudyError
from understudy.rollout.evidence import last_output
from understudy.rollout.replay.judge import Opinion, ReplayJudge
from understudy.rollout.replay.report import (
    JudgedBy,
    ReplayCase,
    ReplayedCase,
    ReplayedRun,
    ReplayReport,
    ReplayVerdict,
    report_json,
)
from understudy.rollout.replay.service import ReplayStarter
from understudy.rollout.replay.stand_ins import UNRECORDED
from understudy.rollout.trials.runs import is_of_trial
from understudy.rollout.trials.trial import BATCH, Trial, TrialState
from understudy.runs.execute import MAX_RUN_EVENTS
from understudy.runs.lifecycle import TERMINAL
from understudy.runs.model import Run, RunStatus, require_run
from understudy.sessions.journal import EventKind
from understudy.sessions.model import spawns_of
from understudy.work.db_retry import repeat_while_db_down
from understudy.work.worker import Claim, WorkerSleep

if TYPE_CHECKING:
    from understudy.review.policy import JudgeSettings
    from understudy.storage.unit import Unit, Units

log = structlog.get_logger()


SUCCESS = Opinion(verdict=ReplayVerdict.SUCCEEDED, reason="")
TOPIC: Final = "replays"
# Polled, because another daemon may have ended a run, or died before it continued.
LOOK_S: Final = 15.0
CHANGED: Final = "the definition changed, or was taken back, while the replay went on"


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedRun:
    """An ended run, with its output and unanswered calls."""

    run: Run
    output: str
    unrecorded_calls: int = 0


def read_ended(unit: "Unit", run: Run) -> EndedRun:
    """The output and unanswered calls of a run, from the journal."""
    return EndedRun(
        run=run,
        output=last_output(unit, run.run_id),
        unrecorded_calls=_unrecorded(unit, run.run_id),
    )


def _unrecorded(unit: "Unit", run_id: str) -> int:
    """The number of calls of a run and its sidechains without a recorded answer."""
    results = unit.journal.read(run_id=run_id, kinds=(EventKind.TOOL_RESULT,), limit=MAX_RUN_EVENTS)
    own = sum(str(it.data.get("content", "")).startswith(UNRECORDED) for it in results)
    # Sidechains nest only a few levels deep.
    return own + sum(_unrecorded(unit, spawn.first_run_id) for spawn in spawns_of(unit, run_id))


@dataclass(frozen=True, slots=True, kw_only=True)
class Measuring:
    """Judges runs that had the same task."""

    # The task, shown to the judge only.
    task: str
    marker: str | None
    judge: ReplayJudge
    rules: "JudgeSettings"

    async def fared(self, ended: EndedRun) -> ReplayedRun:
        """The result of one run."""
        run = ended.run
        judged_by, opinion = await self._opinion(ended)
        return ReplayedRun(
            run_id=run.run_id,
            verdict=opinion.verdict,
            judged_by=judged_by,
            reason="" if opinion.verdict is ReplayVerdict.SUCCEEDED else opinion.reason,
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
    # A cancelled run proves nothing.
    verdict = ReplayVerdict.FAILED if run.status is RunStatus.FAILED else ReplayVerdict.UNDECIDED
    return Opinion(verdict=verdict, reason=f"the run is {run.status}, not completed")


def _by_marker(ended: EndedRun, marker: str) -> Opinion:
    if marker in ended.output:
        return SUCCESS
    return Opinion(verdict=ReplayVerdict.FAILED, reason="the last output lacks the marker")


def _took_ms(run: Run) -> int:
    if run.started_at_ms is None or run.finished_at_ms is None:
        return 0
    return max(0, run.finished_at_ms - run.started_at_ms)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayState:
    """The state of a replay, with its next case."""

    cases: tuple[ReplayCase, ...]
    # Whether the rollout still has the definition of the replay.
    is_current: bool
    # The runs of the next case: recorded, without the skill, and with it, if all have ended.
    ended: tuple[EndedRun, EndedRun, EndedRun] | None
    rules: "JudgeSettings"

    @property
    def next(self) -> ReplayCase | None:
        """The first case that is not judged."""
        return next((case for case in self.cases if case.report is None), None)

    @property
    def run_ids(self) -> tuple[str, ...]:
        """The unfinished runs of the next case."""
        case = self.next
        return () if case is None else tuple(filter(None, (case.without_run_id, case.with_run_id)))


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayDuty:
    """Works off pending replays, one after the other; any daemon may do so."""

    at_once: ClassVar[int] = 1
    sleep: ClassVar[WorkerSleep] = WorkerSleep(topics=(TOPIC,), longest_s=LOOK_S)

    units: "Units"
    clock: Clock
    replaying: ReplayStarter
    judge: ReplayJudge
    # The judge settings of the policy.
    rules_of: Callable[["Unit"], "JudgeSettings"]

    def claim(self, _: int) -> Claim[tuple[Trial, ...]]:
        """Claim all pending replays as one item: they are done before the next poll."""
        with self.units.read() as unit:
            pending = tuple(it for it in unit.rollout_trials.pending(limit=BATCH) if it.cases)
        return Claim(items=(pending,) if pending else (), is_all=True)

    async def do(self, trials: tuple[Trial, ...]) -> None:
        """Continue each replay as far as possible; repeated after a database outage."""
        await repeat_while_db_down(partial(self.work, trials))

    async def work(self, trials: tuple[Trial, ...]) -> None:
        """Continue each replay as far as possible."""
        for trial in trials:
            await self._go_on(trial)

    async def _go_on(self, trial: Trial) -> None:
        try:
            while await self._step(trial):
                pass
        except DatabaseUnavailable:
            raise
        except UnderstudyError as problem:
            # A record that the replay needs is missing or damaged; it must not stay pending for
            # ever.
            log.warning("replay.failed", trial_id=trial.trial_id, code=problem.code)
            await asyncio.to_thread(self._settle, trial, problem.detail, None)
        except Exception:
            # The next poll retries.
            log.exception("replay.crashed", trial_id=trial.trial_id)

    async def _step(self, trial: Trial) -> bool:
        """Do one step; returns whether there may be more to do."""
        now = await asyncio.to_thread(self._look, trial.trial_id)
        if now is None:
            return False
        if not now.is_current:
            await asyncio.to_thread(self.replaying.runs.stop, now.run_ids)
            return await asyncio.to_thread(self._settle, trial, CHANGED, None)
        case = now.next
        if case is None:
            report = ReplayReport(cases=tuple(it.report for it in now.cases if it.report))
            return await asyncio.to_thread(self._settle, trial, report.failed_because, report)
        if not case.is_begun:
            await asyncio.to_thread(self.replaying.open, trial, case)
            return True
        if now.ended is None:
            return False
        judged = await self._judged(case, now.ended, now.rules)
        await asyncio.to_thread(self._keep, case, judged)
        return True

    def _look(self, trial_id: str) -> ReplayState | None:
        with self.units.read() as unit:
            trial = unit.rollout_trials.get(trial_id)
            if trial is None or trial.state is not TrialState.PENDING:
                return None
            state = ReplayState(
                cases=unit.replay_cases.of_trial(trial_id),
                is_current=trial.is_about(unit.rollouts.get(trial.skill_name)),
                ended=None,
                rules=self.rules_of(unit),
            )
            case = state.next
            return state if case is None else replace(state, ended=_ended(unit, case))

    async def _judged(
        self, case: ReplayCase, ended: tuple[EndedRun, EndedRun, EndedRun], rules: "JudgeSettings"
    ) -> ReplayedCase:
        recorded, without_skill, with_skill = ended
        measuring = Measuring(
            task=recorded.run.input.text, marker=case.marker, judge=self.judge, rules=rules
        )
        return ReplayedCase(
            recorded=await measuring.fared(recorded),
            without_skill=await measuring.fared(without_skill),
            with_skill=await measuring.fared(with_skill),
        )

    def _keep(self, case: ReplayCase, report: ReplayedCase) -> None:
        with self.units.write() as unit:
            trial = unit.rollout_trials.get(case.trial_id, lock=True)
            if trial is not None and trial.state is TrialState.PENDING:
                judged = replace(case, report=report, judged_at_ms=self.clock.now_ms())
                unit.replay_cases.update(judged)

    def _settle(self, trial: Trial, why: str | None, report: ReplayReport | None) -> bool:
        """End a replay, unless it has ended; returns False, as nothing is left to do."""
        settled = replace(
            trial,
            state=TrialState.PASSED if why is None else TrialState.FAILED,
            reason=why,
            report=None if report is None else report_json(report),
            ended_at_ms=self.clock.now_ms(),
        )
        with self.units.write() as unit:
            unit.rollout_trials.end(settled)
        log.info("replay.settled", trial_id=trial.trial_id, state=str(settled.state))
        return False


@dataclass(frozen=True, slots=True)
class ReplayNews:
    """Wakes the worker when a run of a trial has ended, or a skill changed."""

    bell: Bell

    def changed(self) -> None:
        """A skill changed: its replays may have to end."""
        self.bell.ring(TOPIC)

    def ended(self, unit: "Unit", run: Run) -> None:
        """Called in the transaction that ends a run."""
        if is_of_trial(run):
            unit.after_commit(partial(self.bell.ring, TOPIC))


def _ended(unit: "Unit", case: ReplayCase) -> tuple[EndedRun, EndedRun, EndedRun] | None:
    """The ended runs of a case; None while one is unfinished."""
    if case.without_run_id is None or case.with_run_id is None:
        return None
    run_ids = (case.recorded_run_id, case.without_run_id, case.with_run_id)
    recorded, without, with_ = (require_run(unit, run_id) for run_id in run_ids)
    if without.status not in TERMINAL or with_.status not in TERMINAL:
        return None
    return read_ended(unit, recorded), read_ended(unit, without), read_ended(unit, with_)
