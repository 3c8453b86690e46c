"""Waiting for the database: what a run has done must not be lost because it is away for a while."""

import asyncio
from collections.abc import Callable
from typing import Final, ParamSpec, TypeVar

import structlog

from understudy.core.errors import DatabaseUnavailable

log = structlog.get_logger()

P = ParamSpec("P")
T = TypeVar("T")

FIRST_WAIT_S: Final = 0.2
LONGEST_WAIT_S: Final = 5.0


async def patiently(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Do blocking work on a thread, again and again until the database answers."""
    wait = FIRST_WAIT_S
    while True:
        try:
            return await asyncio.to_thread(work, *args, **kwargs)
        except DatabaseUnavailable as problem:
            log.warning("run.waiting_for_database", reason=str(problem.__cause__)[:200])
        await asyncio.sleep(wait)
        wait = min(wait * 2, LONGEST_WAIT_S)
