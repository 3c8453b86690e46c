"""What changed between two states of a rollout, in the files that it has or would have."""

from dataclasses import dataclass

from understudy.rollout.files import bundle_of
from understudy.rollout.model import Rollout
from understudy.rollout.service import RolloutService
from understudy.skills.diff import BundleDiff, compare


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """Two states of a rollout, and what differs."""

    old: Rollout
    new: Rollout
    diff: BundleDiff


def compared(
    rollouts: RolloutService, skill_name: str, *, old: int | None, new: int | None
) -> Compared:
    """What changed between two revisions: by default since it last said something else."""
    later = rollouts.at(skill_name, new)
    earlier = rollouts.before(later) if old is None else rollouts.at(skill_name, old)
    diff = compare(bundle_of(earlier.definition), bundle_of(later.definition))
    return Compared(old=earlier, new=later, diff=diff)
