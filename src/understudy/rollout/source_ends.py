"""When the learnings end that skills were promoted from: a skill does not outlast its learning."""

from typing import TYPE_CHECKING

from understudy.core.clock import Clock
from understudy.rollout.model import Rollout

if TYPE_CHECKING:
    from collections.abc import Mapping

    from understudy.storage.unit import Unit


class SourceEnds:
    """Knows at once whether a learning's time is over; it is said once and never changed."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._ends: Mapping[str, int | None] = {}

    def is_over(self, unit: "Unit", rollout: Rollout) -> bool:
        """Whether a skill may no longer be used, though nobody has taken it back yet."""
        source = rollout.source_learning_id
        if source not in self._ends:
            self._ends = unit.rollout_sources.ends()
        ends_at = self._ends.get(source)
        return ends_at is not None and ends_at <= self._clock.now_ms()
