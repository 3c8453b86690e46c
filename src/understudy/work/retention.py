"""Removes records that are older than the settings keep them, a batch at a time."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import structlog

from understudy.core.clock import DAY_MS, Clock
from understudy.work.worker import Claim, WorkerSleep

if TYPE_CHECKING:
    from understudy.storage.unit import Units

log = structlog.get_logger()

LOOK_EVERY_S: Final = 3600.0
# Rows that one transaction removes at most, so that no writer waits for long.
BATCH: Final = 500
# Between two batches, so that other writers get their turn.
BREATH_MS: Final = 100
SLEEP: Final = WorkerSleep(topics=(), longest_s=LOOK_EVERY_S)


@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionDuty:
    """Prunes each kind of record; a batch is one transaction, and leaves no item to do."""

    units: "Units"
    clock: Clock
    # Days by kind; 0 keeps that kind for ever.
    days: Mapping[str, int]
    at_once: int = 1
    sleep: WorkerSleep = SLEEP

    def claim(self, _: int, /) -> Claim[None]:
        """Remove one batch of each kind; sleep until there may be more."""
        now = self.clock.now_ms()
        is_behind = False
        for kind, days in self.days.items():
            if not days:
                continue
            with self.units.write() as unit:
                removed = unit.retention.prune(kind, before_ms=now - days * DAY_MS, most=BATCH)
            if removed:
                log.info("retention.pruned", kind=kind, removed=removed)
            is_behind |= removed >= BATCH
        return Claim(due_at_ms=now + BREATH_MS if is_behind else None)

    async def do(self, _: None, /) -> None:
        """Nothing is left to do."""
