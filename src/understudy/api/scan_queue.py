"""The queue of requests that the guard scans: limited concurrency, bounded length.

A scan takes up to seconds of CPU. Requests wait here, on the event loop, and take no thread of
the pool that authenticates; a full queue refuses requests at once.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Final

from understudy.core.errors import coded_error

AT_ONCE: Final = 2
# Waiting and running requests: of one user, and in total.
MAX_OF_ONE: Final = 8
MAX_IN_ALL: Final = 24


@dataclass(frozen=True, slots=True)
class ScanQueue:
    """The requests of one daemon that wait for a scan or have one, counted by user."""

    by_user: Counter[str] = field(default_factory=Counter)
    _turns: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(AT_ONCE))

    @contextmanager
    def place(self, user_id: str) -> Iterator[None]:
        """Reserve a place in the queue, before the body of up to 24 MiB is read."""
        if self.by_user[user_id] >= MAX_OF_ONE:
            raise coded_error("skills/too_many_scans", limit=MAX_OF_ONE)
        if self.by_user.total() >= MAX_IN_ALL:
            raise coded_error("skills/guard_busy")
        self.by_user[user_id] += 1
        try:
            yield
        finally:
            self.by_user[user_id] -= 1
            if not self.by_user[user_id]:
                del self.by_user[user_id]

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait for one of the concurrent slots."""
        async with self._turns:
            yield
