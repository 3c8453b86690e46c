"""Taking a learning out of force: revoked, or superseded by another."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from understudy.core import audit
from understudy.core.errors import coded_error
from understudy.core.principal import Principal
from understudy.learnings.events import LearningNotice, What, of_learning
from understudy.learnings.listeners import Listeners
from understudy.learnings.model import LEARNING, Learning, LearningStatus

if TYPE_CHECKING:
    from understudy.storage.unit import Unit

# What the audit calls it.
ACTIONS: Final = {
    LearningStatus.REVOKED: "learnings.revoke",
    LearningStatus.SUPERSEDED: "learnings.supersede",
}


def require_learning(unit: "Unit", learning_id: str, *, lock: bool = False) -> Learning:
    """The learning, or `NotFound`."""
    learning = unit.learnings.get(learning_id, lock=lock)
    if learning is None:
        raise coded_error("learnings/learning_not_found", learning_id=learning_id)
    return learning


@dataclass(frozen=True, slots=True, kw_only=True)
class Retirement:
    """Ends learnings whose rows one unit holds, for one person or for the daemon."""

    unit: "Unit"
    by: Principal
    now_ms: int
    listeners: Listeners

    def revoke(
        self, learning: Learning, reason: str | None
    ) -> tuple[Learning, tuple[LearningNotice, ...]]:
        """Revoke one; answers it, and what is to be told once the unit has done all else."""
        changed = replace(
            learning,
            status=LearningStatus.REVOKED,
            revoked_at_ms=self.now_ms,
            revoked_reason=reason,
            revoked_by=self.by.user_id,
        )
        linked = self._linked(learning, changed)
        ended = self._end(learning, changed)
        return ended, (*linked, of_learning(What.LEARNING_REVOKED, ended))

    def supersede(self, learning: Learning, replacement_id: str) -> tuple[LearningNotice, ...]:
        """Let another take the place of one; answers what is to be told."""
        changed = replace(learning, status=LearningStatus.SUPERSEDED, superseded_by=replacement_id)
        linked = self._linked(learning, changed)
        ended = self._end(learning, changed, note=replacement_id)
        return (*linked, of_learning(What.LEARNING_SUPERSEDED, ended))

    def _linked(self, learning: Learning, changed: Learning) -> tuple[LearningNotice, ...]:
        """Have what hangs on it go first."""
        LEARNING.check(learning.status, changed.status)
        hooks = self.listeners.linked
        return tuple(told for hook in hooks for told in hook(self.unit, self.by, learning))

    def _end(self, learning: Learning, changed: Learning, *, note: str | None = None) -> Learning:
        ended = replace(changed, version=learning.version + 1)
        self.unit.learnings.update(ended, expected_version=learning.version)
        entry = audit.done(
            self.by,
            ACTIONS[ended.status],
            ended.learning_id,
            at_ms=self.now_ms,
            version=ended.version,
            reason=note,
        )
        self.unit.audit.add(entry)
        return ended
