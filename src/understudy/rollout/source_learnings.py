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
SOURCE_REVOKED: Final = "its source learning is no longer in force"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpiredSources:
    """Revokes skills whose source learning has expired; until then nobody is offered them."""

    units: "Units"
    transactions: RolloutTransactions

    def look(self) -> int:
        """Revoke the skills of expired learnings; answers how many."""
        # Mostly nothing has expired, and a read takes no write lock.
        with self.units.read() as unit:
            found = unit.rollout_sources.ended(now_ms=self.transactions.clock.now_ms(), limit=BATCH)
        return sum(self._take_back(*each) for each in found)

    def _take_back(self, skill_name: str, learning_id: str) -> bool:
        # One unit each: notices lock journals, and rollout rows must be locked before these.
        try:
            with self.units.write() as unit:
                return self._revoke(unit, skill_name, learning_id)
        except DamagedRecord:
            # The skill is offered to nobody, and `status` reports records that cannot be read.
            log.warning("rollout.source_ended_unreadable", learning_id=learning_id)
            return False

    def _revoke(self, unit: "Unit", skill_name: str, learning_id: str) -> bool:
        changes = self.transactions.within(unit, DAEMON.actor)
        # Lock order: the learning before its rollout.
        learning = unit.learnings.get(learning_id, lock=True)
        rollout = lock_to_revoke(unit, skill_name)
        if learning is None or rollout is None or not learning.is_expired(changes.now_ms):
            return False
        if not rollout.is_live or rollout.source_learning_id != learning_id:
            # It was revoked or promoted from another learning meanwhile.
            return False
        revoked = changes.revoke(rollout, EXPIRED)
        changes.ask(revoked, RolloutEventName.REVOKE, EXPIRED)
        changes.tell()
        log.info("rollout.source_ended", learning_id=learning_id)
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkedRollouts:
    """Revokes the promoted skill of a learning that is revoked or superseded, in the same unit."""

    transactions: RolloutTransactions

    def __call__(self, unit: "Unit", by: Principal, learning: Learning) -> Sequence[LearningNotice]:
        """Revoke the rollout of a learning; answers the notices to write at the end of the unit."""
        # Found by name alone: a damaged rollout does not keep its learning from being revoked.
        name = unit.rollouts.live_name_of(learning.learning_id)
        found = None if name is None else lock_to_revoke(unit, name)
        if found is None:
            return ()
        changes = self.transactions.within(unit, by.actor)
        changes.revoke(found, SOURCE_REVOKED)
        return tuple(changes.told)
