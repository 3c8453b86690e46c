"""Keeping what is counted about skills from growing with every run."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from understudy.core.clock import Clock
from understudy.skills.usage import day_of

if TYPE_CHECKING:
    from understudy.storage.unit import Units

# So far back it is known on which day runs were told of a skill; before, only how many there were.
KEPT_DAYS: Final = 90
# So many at once, as nobody else writes meanwhile.
BATCH: Final = 2_000


@dataclass(frozen=True, slots=True)
class UsageUpkeep:
    """Sums up by day of which skills runs were told."""

    units: "Units"
    clock: Clock

    def sweep(self) -> int:
        """Sum up what there is; tells how much that was."""
        total = 0
        while summed := self._sum_up():
            total += summed
        with self.units.write() as unit:
            unit.skill_uses.sum_up_days(before_day=day_of(self.clock.now_ms()) - KEPT_DAYS)
        return total

    def _sum_up(self) -> int:
        with self.units.write() as unit:
            return unit.skill_uses.sum_up(limit=BATCH)
