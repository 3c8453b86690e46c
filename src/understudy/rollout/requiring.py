"""A rollout by its name."""

from understudy.rollout.model import Rollout
from understudy.rollout.ports import RolloutUnit
from understudy.rollout.refusals import no_rollout


def require_rollout(unit: RolloutUnit, skill_name: str, *, lock: bool = False) -> Rollout:
    """The rollout, or `NotFound`."""
    rollout = unit.rollouts.get(skill_name, lock=lock)
    if rollout is None:
        raise no_rollout(skill_name)
    return rollout
