"""Open event streams: their limit per user, and the repeated check of their caller."""

import asyncio
import math
import time
from collections import Counter
from collections.abc import (
    AsyncIterable,
    AsyncIterator,
    Awaitable,
    Callable,
    Hashable,
    Iterator,
)
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from starlette.concurrency import run_in_threadpool
from starlette.responses import StreamingResponse

from understudy.core.errors import UnderstudyError, coded_error

MAX_STREAMS: Final = 2_000
MAX_STREAMS_OF_ONE: Final = 1_000
# The cache time of a check: a burst of events checks a caller once for all streams.
FRESH_S: Final = 0.05


@dataclass(frozen=True, slots=True)
class OpenStreams:
    """The streams of one daemon, counted by user."""

    by_user: Counter[str] = field(default_factory=Counter)
    # The time and the result of each caller's last check, which may still be pending.
    _asked: dict[Hashable, tuple[float, "asyncio.Task[object]"]] = field(default_factory=dict)

    def watch(
        self,
        answer: StreamingResponse,
        user_id: str,
        admit: Callable[[], object],
        *,
        caller: Hashable,
    ) -> None:
        """Count a stream, and end it when `admit`, called before each batch of events, raises.

        Streams with an equal `caller`, that is, credentials and role, share the result.
        """
        self.check_room(user_id)
        answer.body_iterator = self._watched(
            answer.body_iterator, user_id, partial(self._admit, admit, caller)
        )

    def check_room(self, user_id: str) -> None:
        """Refuse one stream too many."""
        for held, limit in (
            (self.by_user.total(), MAX_STREAMS),
            (self.by_user[user_id], MAX_STREAMS_OF_ONE),
        ):
            if held >= limit:
                raise coded_error("api/too_many_streams", limit=limit)

    @contextmanager
    def counted(self, user_id: str) -> Iterator[None]:
        """Count a caller who waits for an answer as one stream."""
        self.by_user[user_id] += 1
        try:
            yield
        finally:
            self.by_user[user_id] -= 1
            if not self.by_user[user_id]:
                del self.by_user[user_id]

    async def _watched(
        self,
        chunks: AsyncIterable[str | bytes | memoryview],
        user_id: str,
        admit: Callable[[], Awaitable[None]],
    ) -> AsyncIterator[str | bytes | memoryview]:
        asked_at = time.monotonic()
        with self.counted(user_id):
            try:
                async for chunk in chunks:
                    if time.monotonic() - asked_at > FRESH_S:
                        await admit()
                        asked_at = time.monotonic()
                    yield chunk
            except UnderstudyError as error:
                if error.domain != "auth":
                    raise

    async def _admit(self, admit: Callable[[], object], caller: Hashable) -> None:
        now = time.monotonic()
        asked_at, answer = self._asked.get(caller, (-math.inf, None))
        if answer is None or now - asked_at > FRESH_S:
            answer = asyncio.create_task(run_in_threadpool(admit))
            self._asked[caller] = (now, answer)
            answer.add_done_callback(partial(self._forget_later, caller))
        await asyncio.shield(answer)

    def _forget_later(self, caller: Hashable, answer: "asyncio.Task[object]") -> None:
        # Retrieve the exception, so that asyncio does not report it for a closed stream.
        _ = answer.cancelled() or answer.exception()
        answer.get_loop().call_later(max(FRESH_S, 0.0), self._forget, caller, answer)

    def _forget(self, caller: Hashable, answer: "asyncio.Task[object]") -> None:
        if self._asked.get(caller, (0.0, None))[1] is answer:
            del self._asked[caller]
