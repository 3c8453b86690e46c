"""Revokes promoted skills whose source learning expired, was revoked or was superseded."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import structlog

from understudy.core.errors import DamagedRecord
from understudy.core.principal import DAEMON, Principal
from understudy.learnings.events import LearningNotice
from understudy.learnings.model import Learning
from understudy.rollout.changes import RolloutTransactions
from understudy.rollout.model import RolloutEventName, lock_to_revoke

if TYPE_CHECKING:
    from understudy.storage.unit import Unit, Units

log = structlog.get_logger()


BATCH: Final = 20
EXPIRED: Final = "the time of its source learning is over"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpiredSources:
    """Revokes what has outlasted its learning; until it does, nobody is offered it."""

    units: "Units"
    transactions: RolloutTransactions

    def look(self) -> int:
        """Take back what is past its time; how many that were."""
        # Mostly there is nothing, and to find that out nobody has to wait.
        with self.units.read() as unit:
            found = unit.rollout_sources.ended(now_ms=self.transactions.clock.now_ms(), limit=BATCH)
        return sum(self._take_back(*each) for each in found)

    def _take_back(self, skill_name: str, learning_id: str) -> bool:
        # Each in a unit of its own: what is told last holds journals, and rows come before.
        try:
            with self.units.write() as unit:
                return self._revoke(unit, skill_name, learning_id)
        except DamagedRecord:
            # It is offered to nobody, and `status` tells of what cannot be read.
            log.warning("rollout.source_ended_unreadable", learning_id=learning_id)
            return False

    def _revoke(self, unit: "Unit", skill_name: str, learning_id: str) -> bool:
        changes = self.transactions.within(unit, DAEMON.actor)
        # As everywhere the learning is held first.
        learning = unit.learnings.get(learning_id, lock=True)
        rollout = lock_to_revoke(unit, skill_name)
        if learning is None or rollout is None or not learning.is_expired(changes.now_ms):
            return False
        if not rollout.is_live or rollout.source_learning_id != learning_id:
            # Somebody was quicker.
            return False
        revoked = changes.revoke(rollout, EXPIRED)
        changes.ask(revoked, RolloutEventName.REVOKE, EXPIRED)
        changes.tell()
        log.info("rollout.source_ended", learning_id=learning_id)
        return True


SOURCE_REVOKED: Final = "its source learning is no longer in force"


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkedRollouts:
    """Hears of learnings that are about to be revoked or superseded."""

    transactions: RolloutTransactions

    def __call__(self, unit: "Unit", by: Principal, learning: Learning) -> Sequence[LearningNotice]:
        """Revoke what hangs on a learning; answers what is to be told of it at the end."""
        # By its name alone: a record that is damaged keeps no learning in force.
        name = unit.rollouts.live_name_of(learning.learning_id)
        found = None if name is None else lock_to_revoke(unit, name)
        if found is None:
            return ()
        changes = self.transactions.within(unit, by.actor)
        changes.revoke(found, SOURCE_REVOKED)
        return tuple(changes.told)
