"""The report of `/v1/overview`: activity by day, and its cost."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from understudy.core.clock import DAY_MS, Clock
from understudy.providers.model_prices import price_of
from understudy.settings import RouteConfig
from understudy.storage.unit import Units
from understudy.wire.overview import LearningDay, OverviewView, RunDay, UsageShare

# Maximum runs whose usage is summed, so that the answer takes constant time.
USAGE_RUNS: Final = 1_000


@dataclass(frozen=True, slots=True)
class OverviewReport:
    """Sums up the last days when it is called."""

    units: Units
    clock: Clock
    routes: Mapping[str, RouteConfig]

    def __call__(self, days: int) -> OverviewView:
        """The days up to today, including those without activity."""
        now = self.clock.now_ms()
        today = now // DAY_MS * DAY_MS
        since = today - (days - 1) * DAY_MS
        with self.units.read() as unit:
            runs = unit.overview.runs(since)
            learning = unit.overview.learning(since)
            agreement = unit.overview.agreement(since, limit=USAGE_RUNS)
            usage = unit.overview.usage(since, limit=USAGE_RUNS)
        each = range(since, today + 1, DAY_MS)
        return OverviewView(
            since_ms=since,
            until_ms=now,
            runs=[RunDay(day_at_ms=day, **runs.get(day, Counter())) for day in each],
            learning=[
                LearningDay(
                    day_at_ms=day, **learning.get(day, Counter()), **agreement.get(day, Counter())
                )
                for day in each
            ],
            usage=[self._priced(share) for share in usage],
            usage_runs=USAGE_RUNS,
        )

    def _priced(self, share: UsageShare) -> UsageShare:
        price = price_of(self.routes.get(share.route_id), share.model)
        if price is None:
            return share
        cost = price.cost(input_tokens=share.input_tokens, output_tokens=share.output_tokens)
        return share.model_copy(update={"cost_usd": cost})
