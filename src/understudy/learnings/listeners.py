"""Who hears of changes in the learning plane."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from understudy.core.principal import Principal
from understudy.learnings.counters import LearningCounters
from understudy.learnings.events import LearningNotice
from understudy.learnings.model import Learning

if TYPE_CHECKING:
    from understudy.storage.unit import Unit

# Told of a learning that is about to be revoked or superseded, within the same unit: whatever
# hangs on it goes first, and if that cannot be, neither does the learning. It answers what is to be
# told of that once the unit has done all else.
LinkedHook: TypeAlias = Callable[["Unit", Principal, Learning], Sequence[LearningNotice]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Listeners:
    """Who is told what, and when."""

    linked: tuple[LinkedHook, ...] = ()
    observer: LearningCounters = field(default_factory=LearningCounters)
    # Wakes those who review, once there is something to review.
    review: Callable[[], None] = lambda: None


NO_LISTENERS = Listeners()
