"""Candidates that nobody decided on in time are rejected by the daemon."""

import asyncio
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from understudy.core.clock import Clock
from understudy.core.errors import DamagedRecord
from understudy.learnings.decisions import by_policy, reject_quietly
from understudy.learnings.events import LearningNotice, tell
from understudy.learnings.model import EXPIRED, OPEN, Expired

if TYPE_CHECKING:
    from understudy.storage.unit import Unit, Units

# Each batch holds up whoever else wants to write, so it is short.
BATCH: Final = 20
# Longer than those sleep who wait for their turn at SQLite, so that they get it.
PAUSE_S: Final = 0.2
# What is left then is left to the next look.
MOST_AT_ONCE: Final = 1_000


async def keep_expiring(
    units: "Units", clock: Clock, *, every_s: float, pause_s: float = PAUSE_S
) -> None:
    """Look now and then, for ever, and let others in between two batches."""
    while True:
        await asyncio.sleep(every_s)
        batches = expire_in_batches(units, clock)
        while True:
            closed = await asyncio.to_thread(next, batches, None)
            if closed is None:
                break
            await asyncio.sleep(pause_s)


def expire_in_batches(
    units: "Units", clock: Clock, *, batch: int = BATCH, most: int = MOST_AT_ONCE
) -> Iterator[int]:
    """Reject what is past its time, and tell after each batch how many that were."""
    last: Expired | None = None
    rejected = 0
    while rejected < most:
        now_ms = clock.now_ms()
        # Mostly there is nothing, and to find that out nobody has to wait.
        with units.read() as unit:
            found = unit.candidates.expired(now_ms=now_ms, limit=batch, after=last)
        if not found:
            return
        with units.write() as unit:
            closed = _reject(unit, found, now_ms=now_ms)
        rejected += closed
        # Those that cannot be read stay, and are gone past.
        last = found[-1]
        yield closed


def _reject(unit: "Unit", found: tuple[Expired, ...], *, now_ms: int) -> int:
    told: list[LearningNotice] = []
    # In the order of their ids, as all do who hold several.
    for candidate_id in sorted(it.candidate_id for it in found):
        if _is_open(unit, candidate_id):
            told += reject_quietly(
                unit, candidate_id, by=by_policy(), now_ms=now_ms, reason=EXPIRED
            )[1]
    tell(unit, told, at_ms=now_ms)
    return len(told)


def _is_open(unit: "Unit", candidate_id: str) -> bool:
    """Whether there is still something to decide; somebody may have while the row was waited for."""
    try:
        candidate = unit.candidates.get(candidate_id, lock=True)
    except DamagedRecord:
        return False
    return candidate is not None and candidate.state in OPEN
