"""What `/v1/overview` tells: activity day by day."""

from collections import Counter
from dataclasses import dataclass
from typing import Final

from understudy.core.clock import DAY_MS, Clock
from understudy.storage.unit import Units
from understudy.wire.overview import LearningDay, OverviewView, RunDay

# Runs whose usage is added up: so few that the answer takes the same time however many there are.
USAGE_RUNS: Final = 1_000


@dataclass(frozen=True, slots=True)
class OverviewReport:
    """Adds up what happened in the last days when it is called."""

    units: Units
    clock: Clock

    def __call__(self, days: int) -> OverviewView:
        """The days up to today, also those on which nothing happened."""
        now = self.clock.now_ms()
        today = now // DAY_MS * DAY_MS
        since = today - (days - 1) * DAY_MS
        with self.units.read() as unit:
            runs = unit.overview.runs(since)
            learning = unit.overview.learning(since)
            usage = unit.overview.usage(since, limit=USAGE_RUNS)
        each = range(since, today + 1, DAY_MS)
        return OverviewView(
            since_ms=since,
            until_ms=now,
            runs=[RunDay(day_at_ms=day, **runs.get(day, Counter())) for day in each],
            learning=[LearningDay(day_at_ms=day, **learning.get(day, Counter())) for day in each],
            usage=list(usage),
            usage_runs=USAGE_RUNS,
        )
