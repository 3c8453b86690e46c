"""A durable engine that takes no work: what is queued stays as it was queued."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import sqlalchemy as sa

from understudy.engine.durable import DurableEngine
from understudy.storage.engine import WriteTurns, open_engine


@asynccontextmanager
async def idle_engine(url: str) -> AsyncIterator[tuple[sa.Engine, DurableEngine]]:
    """A durable engine whose dispatcher waits for its turn for ever, and its database."""
    database, turns = open_engine(url), WriteTurns()
    engine = DurableEngine(database, executor_id="one")
    with turns.turn():
        await engine.start(_nothing, turn=turns.turn)
        yield database, engine
        stopping = asyncio.create_task(engine.stop())
        await asyncio.sleep(0)
    await stopping
    database.dispose()


async def _nothing(_: str) -> bool:
    return False
