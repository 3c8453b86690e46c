"""Beginning replays: recorded runs, run again with and without the skill, one case after another."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from understudy.core import audit
from understudy.core.clock import Clock
from understudy.core.ids import new_id
from understudy.core.principal import Principal, Role
from understudy.rollout.model import EvidenceKind, Rollout
from understudy.rollout.replay.case import ReplayCase
from understudy.rollout.replay.plan import Planned, plan, with_skill, without_skill
from understudy.rollout.trials.runs import TrialPlace, TrialRuns
from understudy.rollout.trials.trial import Trial, TrialState
from understudy.rollout.trials.wish import TrialWish, check_room, lock_unchanged
from understudy.runs.model import Run, require_run

if TYPE_CHECKING:
    from understudy.storage.unit import Unit, Units

# The folders of a case: without the skill, and with it.
CaseFolders = tuple[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Replaying:
    """Starts replays, and the cases of those that are under way."""

    units: "Units"
    clock: Clock
    runs: TrialRuns

    def begin(self, principal: Principal, rollout: Rollout, wish: TrialWish) -> Trial:
        """A replay with the first of its cases begun; the others follow when that has ended."""
        with self.units.read() as unit:
            planned = plan(unit, rollout, wish)
        trial = self._trial(principal, rollout, wish, planned)
        cases = _cases(trial, principal, planned)
        with self._folders(trial, cases[0]) as folders, self.units.write() as unit:
            held = lock_unchanged(unit, rollout)
            check_room(unit, held)
            unit.rollout_trials.add(trial)
            for case in cases:
                unit.replay_cases.add(case)
            self._open(unit, principal, held, (cases[0], planned[0].recorded), folders)
            unit.audit.add(
                audit.done(principal, "rollouts.trial", trial.skill_name, at_ms=trial.created_at_ms)
            )
        return trial

    def open(self, trial: Trial, case: ReplayCase) -> None:
        """Begin a case; nothing happens if somebody was quicker, or the trial is over."""
        # Whoever starts a replay is an operator at least; its runs are given no more.
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
        """Two fresh folders, which go again if the case is not begun."""
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
        wish: TrialWish,
        planned: Sequence[Planned],
    ) -> Trial:
        return Trial(
            trial_id=new_id("trl"),
            skill_name=rollout.skill_name,
            attempt=rollout.attempt,
            fingerprint=rollout.fingerprint,
            # It is no evidence of either kind; what it shows is in its report.
            kind=EvidenceKind.VERIFICATION,
            marker=wish.marker or "",
            actor=principal.actor,
            created_at_ms=self.clock.now_ms(),
            cases=tuple(each.said for each in planned),
        )


class _TooLate(Exception):
    """Somebody else began the case, ended the trial, or changed the definition."""


def _cases(
    trial: Trial, principal: Principal, planned: Sequence[Planned]
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
    """The case as it is now."""
    return next(it for it in unit.replay_cases.of_trial(case.trial_id) if it.number == case.number)
