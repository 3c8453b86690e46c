"""Which recorded runs can be run again, and what each side of a case is given."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from understudy.rollout.carrying_out import task_for
from understudy.rollout.model import Rollout
from understudy.rollout.replay import refusals
from understudy.rollout.trials.runs import TrialInput, is_of_trial
from understudy.rollout.trials.wish import CaseWish, TrialWish
from understudy.runs.lifecycle import TERMINAL
from understudy.runs.model import InputItem, Run
from understudy.tools.base import ToolError

if TYPE_CHECKING:
    from understudy.storage.unit import Unit

MAX_CASES: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """A recorded run, and what its input has to come to."""

    recorded: Run
    marker: str | None

    @property
    def said(self) -> Mapping[str, str]:
        """The case as its trial keeps it."""
        return {"run_id": self.recorded.run_id} | ({"marker": self.marker} if self.marker else {})


def plan(unit: "Unit", rollout: Rollout, wish: TrialWish) -> tuple[Planned, ...]:
    """The cases of a replay, each of which can be run; `Invalid` names those that cannot."""
    for part, is_given in {
        "kind": wish.kind is not None,
        "params": wish.params is not None,
    }.items():
        if is_given:
            raise refusals.not_of_replays(part)
    if len(wish.cases) > MAX_CASES:
        raise refusals.too_many_cases(MAX_CASES)
    planned = [
        _planned(unit, rollout, case, wish.marker, pointer=f"/cases/{index}")
        for index, case in enumerate(wish.cases)
    ]
    runs = [each.recorded.run_id for each in planned]
    for index, run_id in enumerate(runs):
        if run_id in runs[:index]:
            raise refusals.case_twice(run_id, f"/cases/{index}/run_id")
    return tuple(planned)


def with_skill(rollout: Rollout, recorded: Run) -> TrialInput:
    """The skill as a task, and the recorded words as data that it works on; a `ToolError` if not."""
    task = task_for(rollout, recorded.input.text or None)
    files = [item for item in recorded.input.items if item.type != "text"]
    return TrialInput(items=(InputItem(type="text", text=task), *files))


def without_skill(recorded: Run) -> TrialInput:
    """The same input as it was."""
    return TrialInput(items=recorded.input.items, has_skill=False)


def _planned(
    unit: "Unit", rollout: Rollout, case: CaseWish, marker: str | None, *, pointer: str
) -> Planned:
    where = f"{pointer}/run_id"
    recorded = unit.runs.get(case.run_id)
    if recorded is None:
        raise refusals.no_such_run(case.run_id, where)
    if recorded.status not in TERMINAL:
        raise refusals.run_goes_on(case.run_id, where)
    if is_of_trial(recorded) or recorded.skill_fingerprint is not None:
        raise refusals.skill_in_recording(case.run_id, where)
    try:
        with_skill(rollout, recorded)
    except ToolError as problem:
        raise refusals.unfit_input(problem.detail, where) from None
    # Both sides are given the same, so words that stand in it favour neither.
    return Planned(recorded=recorded, marker=marker if case.marker is None else case.marker)
