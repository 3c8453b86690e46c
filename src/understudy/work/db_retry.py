"""Retry with back-off while the database is down, so that an outage loses no work."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final, ParamSpec, TypeVar

import structlog

from understudy.core.errors import DatabaseUnavailable, UnderstudyError
from understudy.tools.base import ToolError, in_thread

log = structlog.get_logger()

P = ParamSpec("P")
T = TypeVar("T")
FIRST_WAIT_S: Final = 0.2
LONGEST_WAIT_S: Final = 5.0


async def run_blocking(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run blocking work to its end, so that a stopped run sees what it made.

    A domain error becomes a `ToolError` for the model.
    """
    try:
        return await finish_despite_db_outage(work, *args, **kwargs)
    except UnderstudyError as problem:
        raise ToolError(problem.detail, code=problem.code) from problem


async def retry_while_db_down(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Do blocking work on a thread, repeated until the database answers."""
    return await repeat_while_db_down(partial(asyncio.to_thread, work, *args, **kwargs))


async def finish_despite_db_outage(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """As `retry_while_db_down`; a cancelled caller returns only when the attempt has ended."""
    return await repeat_while_db_down(partial(in_thread, work, *args, **kwargs))


async def repeat_while_db_down(attempt: Callable[[], Awaitable[T]]) -> T:
    """Make an attempt again, with back-off, for as long as the database is down."""
    wait = FIRST_WAIT_S
    while True:
        try:
            return await attempt()
        except DatabaseUnavailable as problem:
            log.warning("database.unavailable", reason=str(problem.__cause__)[:200])
        await asyncio.sleep(wait)
        wait = min(wait * 2, LONGEST_WAIT_S)
