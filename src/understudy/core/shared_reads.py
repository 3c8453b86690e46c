"""Coalesces concurrent identical reads into one."""

import asyncio
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from understudy.core.visibility import current_visibility

T = TypeVar("T")

# How long an answer is cached: a ring wakes all its readers within a few turns of the loop.
KEPT_S: Final = 0.5


@dataclass(frozen=True, slots=True)
class SharedReads:
    """Runs a blocking read on a thread, once for all callers with the same key, count and visibility.

    `count` is how often the bell of the read's topic had rung before: a commit after the read rings
    again, so a shared answer is never stale for a caller with that count.
    """

    _running: dict[Hashable, "asyncio.Task[Any]"] = field(default_factory=dict)

    async def once(self, key: Hashable, count: int, read: Callable[[], T]) -> T:
        """The answer of `read`, or of the same read that another task has already started."""
        # The result depends on the caller's visibility.
        place = (current_visibility.get(), key, count)
        known = self._running.get(place)
        if known is None:
            known = asyncio.create_task(asyncio.to_thread(read))
            self._running[place] = known
            known.add_done_callback(lambda done: self._forget_later(place, done))
        answer: T = await asyncio.shield(known)
        return answer

    def _forget_later(self, place: Hashable, done: "asyncio.Task[Any]") -> None:
        # A failure reaches only the callers that wait for it now; the next caller retries.
        failed = done.cancelled() or done.exception() is not None
        seconds = 0.0 if failed else KEPT_S
        done.get_loop().call_later(seconds, self._running.pop, place, None)
