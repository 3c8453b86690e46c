"""A learning that ends takes its promoted skill along, in the same transaction."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from understudy.core.principal import Principal
from understudy.learnings.events import Told
from understudy.learnings.model import Learning
from understudy.rollout.changes import ChangeMaker
from understudy.rollout.lookup import lock_to_revoke
from understudy.rollout.revoking import revoke

if TYPE_CHECKING:
    from understudy.storage.unit import Unit

REASON: Final = "its source learning is no longer in force"


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkedRollouts:
    """Hears of learnings that are about to be revoked or superseded."""

    maker: ChangeMaker

    def __call__(self, unit: "Unit", by: Principal, learning: Learning) -> Sequence[Told]:
        """Revoke what hangs on a learning; answers what is to be told of it at the end."""
        # By its name alone: a record that is damaged keeps no learning in force.
        name = unit.rollouts.live_name_of(learning.learning_id)
        found = None if name is None else lock_to_revoke(unit, name)
        if found is None:
            return ()
        changes = self.maker.within(unit, by.actor)
        revoke(changes, found, REASON)
        return tuple(changes.told)
