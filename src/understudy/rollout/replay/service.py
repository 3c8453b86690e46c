"""Starts replays: recorded runs are run again with and without the skill, case by case."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from understudy.core import audit
from understudy.core.clock import Clock
from understudy.core.errors import UnderstudyError, coded_error
from understudy.core.ids import new_id
from understudy.core.principal import Principal, Role
from understudy.rollout.files import task_for
from understudy.rollout.model import EvidenceKind, Rollout
from understudy.rollout.replay.report import ReplayCase
from understudy.rollout.trials.runs import TrialInput, TrialPlace, TrialRuns, is_of_trial
from understudy.rollout.trials.trial import (
    CaseRequest,
    Trial,
    TrialRequest,
    TrialState,
    check_room,
    lock_unchanged,
)
from understudy.runs.lifecycle import TERMINAL
from understudy.runs.model import InputItem, Run, require_run
from understudy.runs.taint import untrusted_path
from understudy.tools.base import ToolError

if TYPE_CHECKING:
    from understudy.storage.unit import Unit, Units


MAX_CASES: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedCase:
    """A recorded run of a replay, and its marker."""

    recorded: Run
    marker: str | None
    # The untrusted sources of the recorded run.
    untrusted_path: tuple[str, ...]

    @property
    def said(self) -> Mapping[str, Any]:
        """The case as JSON for its trial."""
        more = {"marker": self.marker, "untrusted_path": list(self.untrusted_path)}
        return {"run_id": self.recorded.run_id} | {name: it for name, it in more.items() if it}


def plan(unit: "Unit", rollout: Rollout, request: TrialRequest) -> tuple[PlannedCase, ...]:
    """The checked cases of a replay; `Invalid` names a case that cannot be replayed."""
    for part, is_given in {
        "kind": request.kind is not None,
        "params": request.params is not None,
    }.items():
        if is_given:
            raise coded_error("rollout/not_of_replays", pointer=f"/{part}", part=part)
    if len(request.cases) > MAX_CASES:
        raise coded_error("rollout/too_many_cases", pointer="/cases", most=MAX_CASES)
    planned = [
        _planned(unit, rollout, case, request.marker, pointer=f"/cases/{index}")
        for index, case in enumerate(request.cases)
    ]
    runs = [each.recorded.run_id for each in planned]
    for index, run_id in enumerate(runs):
        if run_id in runs[:index]:
            raise coded_error("rollout/case_twice", pointer=f"/cases/{index}/run_id", run_id=run_id)
    return tuple(planned)


def with_skill(rollout: Rollout, recorded: Run) -> TrialInput:
    """The skill as a task with the recorded input as its data; raises `ToolError` if it does not fit."""
    task = task_for(rollout, recorded.input.text or None)
    files = [item for item in recorded.input.items if item.type != "text"]
    return TrialInput(items=(InputItem(type="text", text=task), *files))


def without_skill(recorded: Run) -> TrialInput:
    """The recorded input without the skill."""
    return TrialInput(items=recorded.input.items, has_skill=False)


def _planned(
    unit: "Unit", rollout: Rollout, case: CaseRequest, marker: str | None, *, pointer: str
) -> PlannedCase:
    where = f"{pointer}/run_id"
    recorded = unit.runs.get(case.run_id)
    if recorded is None:
        raise coded_error("rollout/unknown_case", pointer=where, run_id=case.run_id)
    if recorded.status not in TERMINAL:
        raise coded_error("rollout/run_not_ended", pointer=where, run_id=case.run_id)
    if is_of_trial(recorded) or recorded.skill_fingerprint is not None:
        raise coded_error(
            "rollout/case_not_replayable:runs_skill", pointer=where, run_id=case.run_id
        )
    try:
        with_skill(rollout, recorded)
    except ToolError as problem:
        raise unfit_input(problem.detail, where) from None
    # The marker may be in the input: both sides get the same input.
    return PlannedCase(
        recorded=recorded,
        marker=marker if case.marker is None else case.marker,
        untrusted_path=untrusted_path(unit, recorded),
    )


# The folders of a case: without the skill, and with it.
CaseFolders = tuple[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayStarter:
    """Starts replays, and the next cases of pending ones."""

    units: "Units"
    clock: Clock
    runs: TrialRuns

    def begin(self, principal: Principal, rollout: Rollout, request: TrialRequest) -> Trial:
        """Start a replay with its first case; the others follow when that has ended."""
        with self.units.read() as unit:
            planned = plan(unit, rollout, request)
        trial = self._trial(principal, rollout, request, planned)
        cases = _cases(trial, principal, planned)
        with self._folders(trial, cases[0]) as folders, self.units.write() as unit:
            held = lock_unchanged(unit, rollout)
            check_room(unit, held)
            unit.rollout_trials.insert(trial)
            for case in cases:
                unit.replay_cases.add(case)
            self._open(unit, principal, held, (cases[0], planned[0].recorded), folders)
            unit.audit.add(
                audit.done(principal, "rollouts.trial", trial.skill_name, at_ms=trial.created_at_ms)
            )
        return trial

    def open(self, trial: Trial, case: ReplayCase) -> None:
        """Start a case; does nothing if it is started already, or the trial is over."""
        # A replay is started by an operator at least; its runs get no higher role.
        owner = Principal(user_id=case.owner_id, role=Role.OPERATOR)
        with self._folders(trial, case) as folders, self.units.write() as unit:
            rollout = unit.rollouts.get(trial.skill_name, lock=True)
            held = unit.rollout_trials.get(trial.trial_id, lock=True)
            current = _case(unit, case)
            is_open = held is not None and held.state is TrialState.PENDING
            if rollout is None or not is_open or current.is_begun or not trial.is_about(rollout):
                raise _TooLate
            recorded = require_run(unit, case.recorded_run_id)
            self._open(unit, owner, rollout, (current, recorded), folders)

    def _open(
        self,
        unit: "Unit",
        owner: Principal,
        rollout: Rollout,
        case: tuple[ReplayCase, Run],
        folders: CaseFolders,
    ) -> None:
        row, recorded = case
        given = (without_skill(recorded), with_skill(rollout, recorded))
        without, with_ = (
            self.runs.start(
                unit, owner, rollout, each, TrialPlace(trial_id=row.trial_id, workdir=folder)
            )
            for each, folder in zip(given, folders, strict=True)
        )
        begun = replace(row, without_run_id=without.run_id, with_run_id=with_.run_id)
        unit.replay_cases.update(begun)

    @contextmanager
    def _folders(self, trial: Trial, case: ReplayCase) -> Iterator[CaseFolders]:
        """Two new folders, which are removed if the case is not started."""
        claimed: list[str] = []
        try:
            for side in ("without", "with"):
                name = f"{trial.trial_id}-{case.number}-{side}"
                claimed.append(self.runs.claim(trial.skill_name, name))
            yield claimed[0], claimed[1]
        except BaseException as problem:
            for folder in claimed:
                self.runs.worktrees.release(folder)
            if not isinstance(problem, _TooLate):
                raise

    def _trial(
        self,
        principal: Principal,
        rollout: Rollout,
        request: TrialRequest,
        planned: Sequence[PlannedCase],
    ) -> Trial:
        return Trial(
            trial_id=new_id("trl"),
            skill_name=rollout.skill_name,
            attempt=rollout.attempt,
            fingerprint=rollout.fingerprint,
            # A replay is no evidence of any kind; its result is the report.
            kind=EvidenceKind.VERIFICATION,
            marker=request.marker or "",
            actor=principal.actor,
            created_at_ms=self.clock.now_ms(),
            cases=tuple(each.said for each in planned),
        )


class _TooLate(Exception):
    """Another process began the case, ended the trial, or changed the definition."""


def _cases(
    trial: Trial, principal: Principal, planned: Sequence[PlannedCase]
) -> tuple[ReplayCase, ...]:
    return tuple(
        ReplayCase(
            trial_id=trial.trial_id,
            number=number,
            recorded_run_id=each.recorded.run_id,
            owner_id=principal.user_id,
            marker=each.marker,
        )
        for number, each in enumerate(planned, start=1)
    )


def _case(unit: "Unit", case: ReplayCase) -> ReplayCase:
    """The stored case."""
    return next(it for it in unit.replay_cases.of_trial(case.trial_id) if it.number == case.number)


def unfit_input(detail: str, pointer: str) -> UnderstudyError:
    """The error for an input that the skill cannot be given."""
    return coded_error("rollout/case_not_replayable", pointer=pointer, detail=detail)
