"""Taking a skill back: by a person, with its learning, or because it does worse than it did."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import structlog

from understudy.core.errors import DamagedRecord
from understudy.core.principal import DAEMON, Principal
from understudy.learnings.events import LearningNotice
from understudy.learnings.model import Learning
from understudy.rollout.changes import RolloutChanges, RolloutTransactions
from understudy.rollout.hold import end_with_attempt
from understudy.rollout.lookup import lock_to_revoke
from understudy.rollout.model import Rollout, RolloutEventName
from understudy.rollout.stages import ROLLOUT, Stage

if TYPE_CHECKING:
    from understudy.storage.unit import Unit, Units

log = structlog.get_logger()


def revoke(changes: RolloutChanges, rollout: Rollout, reason: str | None) -> Rollout:
    """Take a rollout back; one that is revoked already stays as it was."""
    if not rollout.is_live:
        return rollout
    free = end_with_attempt(changes, rollout)
    return changes.change(
        free, _ended(changes, free, reason), RolloutEventName.REVOKE, reason=reason
    )


def demote(
    changes: RolloutChanges, rollout: Rollout, reason: str, *, run_ids: Sequence[str] = ()
) -> Rollout:
    """Take an active skill back because it does worse than its baseline, and tell people so."""
    if rollout.status is not Stage.ACTIVE:
        return rollout
    free = end_with_attempt(changes, rollout)
    demoted = replace(_ended(changes, free, reason), is_demoted=True)
    demoted = changes.change(free, demoted, RolloutEventName.DEMOTE, reason=reason)
    changes.ask(demoted, RolloutEventName.DEMOTE, reason, run_ids=run_ids)
    return demoted


def _ended(changes: RolloutChanges, rollout: Rollout, reason: str | None) -> Rollout:
    ROLLOUT.check(rollout.status, Stage.REVOKED)
    return replace(
        rollout,
        status=Stage.REVOKED,
        revoked_at_ms=changes.now_ms,
        revoked_reason=reason,
    )


BATCH: Final = 20
REASON: Final = "the time of its source learning is over"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpiredSources:
    """Revokes what has outlasted its learning; until it does, nobody is offered it."""

    units: "Units"
    maker: RolloutTransactions

    def look(self) -> int:
        """Take back what is past its time; how many that were."""
        # Mostly there is nothing, and to find that out nobody has to wait.
        with self.units.read() as unit:
            found = unit.rollout_sources.ended(now_ms=self.maker.clock.now_ms(), limit=BATCH)
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
        changes = self.maker.within(unit, DAEMON.actor)
        # As everywhere the learning is held first.
        learning = unit.learnings.get(learning_id, lock=True)
        rollout = lock_to_revoke(unit, skill_name)
        if learning is None or rollout is None or not learning.is_expired(changes.now_ms):
            return False
        if not rollout.is_live or rollout.source_learning_id != learning_id:
            # Somebody was quicker.
            return False
        revoked = revoke(changes, rollout, REASON)
        changes.ask(revoked, RolloutEventName.REVOKE, REASON)
        changes.tell()
        log.info("rollout.source_ended", learning_id=learning_id)
        return True


SOURCE_REVOKED: Final = "its source learning is no longer in force"


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkedRollouts:
    """Hears of learnings that are about to be revoked or superseded."""

    maker: RolloutTransactions

    def __call__(self, unit: "Unit", by: Principal, learning: Learning) -> Sequence[LearningNotice]:
        """Revoke what hangs on a learning; answers what is to be told of it at the end."""
        # By its name alone: a record that is damaged keeps no learning in force.
        name = unit.rollouts.live_name_of(learning.learning_id)
        found = None if name is None else lock_to_revoke(unit, name)
        if found is None:
            return ()
        changes = self.maker.within(unit, by.actor)
        revoke(changes, found, SOURCE_REVOKED)
        return tuple(changes.told)
