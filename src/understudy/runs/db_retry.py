"""Waiting for the database: what a run has done must not be lost because it is away for a while."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final, ParamSpec, TypeVar

import structlog

from understudy.core.errors import DatabaseUnavailable
from understudy.tools.base import in_thread

log = structlog.get_logger()

P = ParamSpec("P")
T = TypeVar("T")

FIRST_WAIT_S: Final = 0.2
LONGEST_WAIT_S: Final = 5.0


async def retry_while_db_down(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Do blocking work on a thread, again and again until the database answers."""
    return await _again_and_again(partial(asyncio.to_thread, work, *args, **kwargs))


async def finish_despite_db_outage(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """As `retry_while_db_down`; who is cancelled leaves only when what is under way has ended."""
    return await _again_and_again(partial(in_thread, work, *args, **kwargs))


async def _again_and_again(attempt: Callable[[], Awaitable[T]]) -> T:
    wait = FIRST_WAIT_S
    while True:
        try:
            return await attempt()
        except DatabaseUnavailable as problem:
            log.warning("run.waiting_for_database", reason=str(problem.__cause__)[:200])
        await asyncio.sleep(wait)
        wait = min(wait * 2, LONGEST_WAIT_S)
