"""A change of the learning policy has every candidate that waits looked at again."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from understudy.core.clock import Clock
from understudy.learnings.model import Mode
from understudy.review.policy import LEARNING_POLICY
from understudy.runtime.model import Revision

if TYPE_CHECKING:
    from understudy.storage.unit import Unit


def policy_hook(
    clock: Clock, ring: Callable[[], None]
) -> Callable[["Unit", Revision, Revision], None]:
    """What the runtime service calls in the transaction of a new revision; `ring` wakes workers.

    A revision whose policy cannot be read is not made.
    """

    def queue_again(unit: "Unit", before: Revision, after: Revision) -> None:
        setting = LEARNING_POLICY.setting
        if before.document.get(setting) == after.document.get(setting):
            return
        if LEARNING_POLICY.stored(after.document).mode is Mode.MANUAL_ONLY:
            return
        unit.candidates.queue_pending(due_at_ms=clock.now_ms())
        unit.after_commit(ring)

    return queue_again
