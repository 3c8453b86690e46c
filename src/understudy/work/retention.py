"""Retention: deletes records past their retention time, a batch at a time."""

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
# Maximum rows deleted per transaction, so that no writer waits long for the lock.
BATCH: Final = 500
# Pause between two batches, so that other writers get the lock.
BREATH_MS: Final = 100
SLEEP: Final = WorkerSleep(topics=(), longest_s=LOOK_EVERY_S)


@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionDuty:
    """Prunes each kind of record; a batch is one transaction, done within the claim."""

    units: "Units"
    clock: Clock
    # Days by kind; 0 keeps that kind for ever.
    days: Mapping[str, int]
    at_once: int = 1
    sleep: WorkerSleep = SLEEP

    def claim(self, _: int, /) -> Claim[None]:
        """Delete one batch of each kind; sleep until there may be more."""
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
        """Never has work: `claim` does everything."""
