"""How many model and tool calls run at once in this process, and how they come to rest."""

import asyncio
from types import TracebackType


class Slots:
    """A bounded number of places; once draining, nobody enters any more and the last one leaves."""

    def __init__(self, limit: int) -> None:
        self._places = asyncio.Semaphore(limit)
        self._draining = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self._inside = 0

    async def __aenter__(self) -> None:
        await self.enter_unless_draining()
        await self._places.acquire()
        if self._draining.is_set():
            self._places.release()
            await self.enter_unless_draining()
        self._inside += 1
        self._idle.clear()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._places.release()
        self._inside -= 1
        if self._inside == 0:
            self._idle.set()

    async def enter_unless_draining(self) -> None:
        """Go on at once, or never: what waits here is taken up by the next start."""
        if self._draining.is_set():
            await asyncio.Event().wait()

    async def drain(self, *, timeout_s: float) -> bool:
        """Let nobody in and wait for those inside; tells whether all have left."""
        self._draining.set()
        try:
            async with asyncio.timeout(timeout_s):
                await self._idle.wait()
        except TimeoutError:
            return False
        return True
