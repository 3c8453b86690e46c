"""Use cases of trials: execute a definition, and record the result as evidence."""

from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import structlog

from understudy.core import audit
from understudy.core.errors import DamagedRecord, coded_error
from understudy.core.ids import new_id
from understudy.core.page import Page, PageRequest
from understudy.core.principal import Principal
from understudy.learnings.guard import NO_LITERALS, SecretGuard
from understudy.rollout.changes import RolloutTransactions
from understudy.rollout.evidence import SPEAKING, RunSuccess, success_of
from understudy.rollout.files import task_for
from understudy.rollout.model import Rollout, require_rollout
from understudy.rollout.replay.report import ReplayCase
from understudy.rollout.replay.service import ReplayStarter
from understudy.rollout.results import SkillExecution, record_executed
from understudy.rollout.trials.runs import TrialInput, TrialPlace, TrialRuns
from understudy.rollout.trials.trial import (
    BATCH,
    EXPECTED,
    KINDS,
    PARAMS,
    Markers,
    Trial,
    TrialRequest,
    TrialState,
    check_on_trial,
    check_room,
    checked,
    kind_of,
    lock_unchanged,
    require_not_given,
)
from understudy.runs.lifecycle import TERMINAL
from understudy.runs.model import InputItem, Run
from understudy.skills.instructions import Params
from understudy.tools.base import ToolError

if TYPE_CHECKING:
    from understudy.storage.unit import Unit, Units

log = structlog.get_logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialService:
    """Starts trials, and settles them when their runs have ended."""

    units: "Units"
    transactions: RolloutTransactions
    runs: TrialRuns
    guard: SecretGuard = NO_LITERALS

    def begin(self, principal: Principal, skill_name: str, request: TrialRequest) -> Trial:
        """Execute the current definition, once or on each case; answers at once."""
        with self.units.read() as unit:
            rollout = require_rollout(unit, skill_name)
            before = ""
            if not request.marker and not request.cases:
                before = unit.rollout_trials.newest_marker(skill_name, *rollout.tried)
        check_on_trial(rollout, request)
        request = checked(request, Markers(self.guard))
        self._stop_moot(skill_name)
        if request.cases:
            replaying = ReplayStarter(
                units=self.units, clock=self.transactions.clock, runs=self.runs
            )
            return replaying.begin(principal, rollout, request)
        return self._begin(principal, rollout, request, before)

    def cases(self, trial: Trial) -> tuple[ReplayCase, ...]:
        """The cases of a replay; none for a plain trial."""
        if not trial.cases:
            return ()
        with self.units.read() as unit:
            return unit.replay_cases.of_trial(trial.trial_id)

    def get(self, skill_name: str, trial_id: str) -> Trial:
        """One trial of a skill, or `NotFound`."""
        with self.units.read() as unit:
            require_rollout(unit, skill_name)
            trial = unit.rollout_trials.get(trial_id)
        if trial is None or trial.skill_name != skill_name:
            raise coded_error("rollout/trial_not_found", skill_name=skill_name, trial_id=trial_id)
        return trial

    def page(self, skill_name: str, request: PageRequest) -> Page[Trial]:
        """The trials of a skill, newest first."""
        with self.units.read() as unit:
            require_rollout(unit, skill_name)
            return unit.rollout_trials.page(skill_name, request)

    def ended(self, unit: "Unit", run: Run) -> None:
        """Settle the trial of a run after the commit that ends the run."""
        if run.trial_id is None or run.skill_fingerprint is None:
            return
        # A trial that cannot be read must not keep the run from ending.
        with suppress(DamagedRecord):
            if unit.rollout_trials.of_run(run.run_id) is not None:
                unit.after_commit(partial(self._settle_now, run.run_id))

    def catch_up(self) -> int:
        """Settle trials that a crash left pending; answers how many were checked."""
        self._stop_moot()
        with self.units.read() as unit:
            waiting = unit.rollout_trials.pending(limit=BATCH)
        runs = [trial.run_id for trial in waiting if trial.run_id and not trial.cases]
        for run_id in runs:
            self._settle_now(run_id)
        return len(runs)

    def stop_moot(self, skill_name: str) -> None:
        """Cancel the trials of a skill that changed; called after the commit."""
        try:
            self._stop_moot(skill_name)
        except Exception:
            # The change is committed; the next catch-up cancels them.
            log.exception("trial.not_stopped", skill_name=skill_name)

    def _stop_moot(self, skill_name: str | None = None) -> None:
        """Cancel runs of trials whose definition is no longer current."""
        with self.units.read() as unit:
            waiting = unit.rollout_trials.pending(limit=BATCH, skill_name=skill_name)
            moot = [trial for trial in waiting if _is_moot(unit, trial)]
        # Replays and their runs are ended by the replay duty.
        self.runs.stop(trial.run_id for trial in moot if trial.run_id and not trial.cases)

    def _settle_now(self, run_id: str) -> None:
        try:
            self._settle(run_id)
        except Exception:
            # The run has ended; the next catch-up settles its trial.
            log.exception("trial.not_settled", run_id=run_id)

    def _begin(
        self, principal: Principal, rollout: Rollout, request: TrialRequest, before: str
    ) -> Trial:
        trial = Trial(
            trial_id=new_id("trl"),
            skill_name=rollout.skill_name,
            attempt=rollout.attempt,
            fingerprint=rollout.fingerprint,
            kind=kind_of(rollout, request),
            # A marker that was missed once is expected again, also if the caller names none.
            marker=request.marker or before,
            actor=principal.actor,
            created_at_ms=self.transactions.clock.now_ms(),
        )
        task = _task(rollout, request.params)
        Markers(self.guard).check_params(request.params)
        require_not_given(trial.marker, request.params, EXPECTED if request.marker else PARAMS)
        workdir = self.runs.claim(trial.skill_name, trial.trial_id)
        trial = replace(trial, workspace_digest=self.runs.committed())
        try:
            return self._start(principal, rollout, trial, task, workdir)
        except BaseException:
            self.runs.worktrees.release(workdir)
            raise

    def _start(
        self, principal: Principal, seen: Rollout, trial: Trial, task: str, workdir: str
    ) -> Trial:
        given = TrialInput(items=(InputItem(type="text", text=task),))
        place = TrialPlace(trial_id=trial.trial_id, workdir=workdir)
        with self.units.write() as unit:
            rollout = lock_unchanged(unit, seen)
            check_room(unit, rollout)
            run = self.runs.start(unit, principal, rollout, given, place)
            begun = replace(trial, run_id=run.run_id, session_id=run.session_id)
            unit.rollout_trials.insert(begun)
            entry = audit.done(
                principal, "rollouts.trial", rollout.skill_name, at_ms=trial.created_at_ms
            )
            unit.audit.add(entry)
            return begun

    def _settle(self, run_id: str) -> None:
        with self.units.write() as unit:
            trial = unit.rollout_trials.of_run(run_id)
            if trial is None or trial.cases or trial.state is not TrialState.PENDING:
                return
            run, shown = _outcome(unit, run_id, trial.marker)
            if shown is None:
                return
            # Lock order: the rollout before its trials.
            rollout = unit.rollouts.get(trial.skill_name, lock=True)
            changes = self.transactions.within(unit, trial.actor)
            uncounted = _uncounted_because(trial, rollout, run)
            settled = replace(
                trial,
                state=TrialState.PASSED if shown.success else TrialState.FAILED,
                reason=_reason(run, shown, uncounted),
                ended_at_ms=changes.now_ms,
            )
            if unit.rollout_trials.end(settled) and uncounted is None and rollout and run:
                execution = SkillExecution(
                    kind=trial.kind, run=run, success=shown.success, trial=trial
                )
                record_executed(changes, rollout, execution)
            log.info("trial.settled", trial_id=trial.trial_id, state=str(settled.state))


def _task(rollout: Rollout, params: Params) -> str:
    try:
        return task_for(rollout, params)
    except ToolError as problem:
        raise coded_error("rollout/invalid_params", pointer=PARAMS, detail=problem.detail) from None


def _outcome(unit: "Unit", run_id: str, marker: str) -> tuple[Run | None, RunSuccess | None]:
    """The run, and whether it succeeded; None while it is not over."""
    try:
        run = unit.runs.get(run_id)
    except DamagedRecord:
        run = None
    if run is None:
        return None, RunSuccess(success=False, why=f"run {run_id} cannot be read")
    if run.status not in TERMINAL:
        return run, None
    return run, success_of(unit, run, marker)


def _reason(run: Run | None, shown: RunSuccess, uncounted: str | None) -> str | None:
    """Why a trial failed or is no evidence; for a cancelled run the reason of the cancellation."""
    is_stopped = run is not None and run.status not in SPEAKING
    ways = (uncounted, shown.why) if is_stopped else (shown.why, uncounted)
    return ways[0] or ways[1]


def _is_moot(unit: "Unit", trial: Trial) -> bool:
    """Whether a trial can no longer be evidence."""
    try:
        return not trial.is_about(unit.rollouts.get(trial.skill_name))
    except DamagedRecord:
        # Unknown; the record may be repaired.
        return False


def _uncounted_because(trial: Trial, rollout: Rollout | None, run: Run | None) -> str | None:
    """Why the result of a trial is no evidence; None when it is."""
    if rollout is None or rollout.tried != trial.tried:
        return "not counted: the definition changed while the trial went on"
    if trial.kind not in KINDS.get(rollout.status, ()):
        return f"not counted: the rollout is {rollout.status} by now"
    if run is None or run.status not in SPEAKING:
        return "the run was stopped before it could show anything"
    return None
