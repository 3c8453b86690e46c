"""Holding on to a claim while something slow is under way, so that claims can be short.

What a daemon held when it was killed is then taken up by the next one within seconds.
"""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Final, TypeVar

from understudy.runs.db_retry import retry_while_db_down

T = TypeVar("T")

LEASE_MS: Final = 8_000
RENEWED_EVERY_S: Final = 2.5


class ClaimLost(Exception):
    """Somebody else has the job by now; what came of it here no longer counts."""


class NeedsModel(Exception):
    """The job cannot be done without a model, and was taken from the lane where none is asked."""


async def while_held(
    work: Coroutine[Any, Any, T],
    extend: Callable[[], bool],
    *,
    to_the_end: bool = False,
    every_s: float = RENEWED_EVERY_S,
) -> T:
    """Do slow work, and have its claim stand for as long as it takes.

    When the claim is lost the work is dropped, and `ClaimLost` raised; `to_the_end`, it is finished
    all the same, for what is worth keeping whoever has the job.
    """
    task = asyncio.create_task(work)
    try:
        while not task.done():
            await asyncio.wait({task}, timeout=every_s)
            if task.done() or await retry_while_db_down(extend):
                continue
            if not to_the_end:
                raise ClaimLost
            return await task
        return task.result()
    finally:
        task.cancel()
