"""What the replays of a definition say for it."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from understudy.rollout.confidence import Tally
from understudy.rollout.model import Rollout
from understudy.rollout.replay.report import tally_in

if TYPE_CHECKING:
    from understudy.storage.unit import Unit

# How many of the cases that are still worse are named.
MOST_NAMED: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayStanding:
    """Whether replays speak for a definition, and what speaks against it."""

    # A replay passed in which all cases were judged by a marker or the judge.
    is_vouched_for: bool = False
    # Recorded runs that fared worse with it, and no better since by the same yardstick.
    regressions: tuple[str, ...] = ()


NO_REPLAYS: Final = ReplayStanding()


def replay_standing(unit: "Unit", rollout: Rollout) -> ReplayStanding:
    """What all replays of this very definition in this attempt come to."""
    worse = unit.replay_cases.regressed(rollout, limit=MOST_NAMED)
    return ReplayStanding(
        is_vouched_for=unit.replay_cases.is_vouched_for(rollout),
        regressions=tuple(dict.fromkeys(case.recorded_run_id for case in worse)),
    )


def replayed(unit: "Unit", rollout: Rollout) -> Tally:
    """How many cases of the newest replay succeeded with the skill; none of none without one."""
    trials = unit.rollout_trials.with_report(rollout.skill_name, rollout.attempt)
    replays = (it for it in trials if it.cases and it.fingerprint == rollout.fingerprint)
    newest = next(replays, None)
    return tally_in({} if newest is None or newest.report is None else newest.report)
