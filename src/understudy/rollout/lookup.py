"""A rollout by its name, and what speaks for it; where its record is damaged, what is left of it."""

from typing import TYPE_CHECKING

from understudy.core.errors import DamagedRecord, coded_error
from understudy.rollout.evidence import EvidenceSums
from understudy.rollout.model import Rollout

if TYPE_CHECKING:
    from understudy.storage.unit import Unit


def require_rollout(unit: "Unit", skill_name: str, *, lock: bool = False) -> Rollout:
    """The rollout, or `NotFound`."""
    rollout = unit.rollouts.get(skill_name, lock=lock)
    if rollout is None:
        raise coded_error("rollout/rollout_not_found", skill_name=skill_name)
    return rollout


def sums_of_one(unit: "Unit", rollout: Rollout) -> EvidenceSums:
    """What speaks for its current definition."""
    return unit.rollouts.sums_of([rollout])[rollout.skill_name]


def lock_to_revoke(unit: "Unit", skill_name: str) -> Rollout | None:
    """The rollout, held, of which as much is read as it takes to revoke it."""
    try:
        return unit.rollouts.get(skill_name, lock=True)
    except DamagedRecord:
        return unit.rollouts.remnant(skill_name)


def get_or_revoked_remnant(unit: "Unit", skill_name: str, *, lock: bool = False) -> Rollout | None:
    """The rollout; of a revoked one that cannot be read what is left, as another begins on it."""
    try:
        return unit.rollouts.get(skill_name, lock=lock)
    except DamagedRecord:
        left = unit.rollouts.remnant(skill_name)
        if left is None or left.is_live:
            raise
        return left
