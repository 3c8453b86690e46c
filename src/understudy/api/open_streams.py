"""Open streams: how many there may be, and whether their caller may still read."""

import time
from collections import Counter
from collections.abc import AsyncIterable, AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Final

from starlette.concurrency import run_in_threadpool
from starlette.responses import StreamingResponse

from understudy.core.errors import UnderstudyError, coded_error

MAX_STREAMS: Final = 2_000
MAX_STREAMS_OF_ONE: Final = 1_000
# A burst of events asks for the caller once.
FRESH_S: Final = 0.05


@dataclass(frozen=True, slots=True)
class OpenStreams:
    """The streams of one daemon, counted by user."""

    by_user: Counter[str] = field(default_factory=Counter)

    def watch(self, answer: StreamingResponse, user_id: str, admit: Callable[[], object]) -> None:
        """Count a stream, and end it when `admit`, asked before each batch of events, raises."""
        for held, limit in (
            (self.by_user.total(), MAX_STREAMS),
            (self.by_user[user_id], MAX_STREAMS_OF_ONE),
        ):
            if held >= limit:
                raise coded_error("api/too_many_streams", limit=limit)
        answer.body_iterator = self._watched(answer.body_iterator, user_id, admit)

    async def _watched(
        self,
        chunks: AsyncIterable[str | bytes | memoryview],
        user_id: str,
        admit: Callable[[], object],
    ) -> AsyncIterator[str | bytes | memoryview]:
        self.by_user[user_id] += 1
        asked_at = time.monotonic()
        try:
            async for chunk in chunks:
                if time.monotonic() - asked_at > FRESH_S:
                    await run_in_threadpool(admit)
                    asked_at = time.monotonic()
                yield chunk
        except UnderstudyError as error:
            if error.domain != "auth":
                raise
        finally:
            self.by_user[user_id] -= 1
            if not self.by_user[user_id]:
                del self.by_user[user_id]
