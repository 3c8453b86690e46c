"""One durable step: written to our journal under a key, against a step of the engine's own."""

import asyncio
import tempfile
import time
from pathlib import Path

from dbos import DBOS, DBOSConfig

from bench.report import figure, heading
from bench.runs import make_session
from understudy.core.bell import Bell
from understudy.sessions.journal import EventKind, NewEvent
from understudy.storage.engine import open_engine
from understudy.storage.migrate import migrate
from understudy.storage.unit import Units


def main(*, quick: bool = False) -> None:
    """Measure both on SQLite, from the event loop, as runs do."""
    steps = 200 if quick else 2000
    heading("One durable step on SQLite (CPU, from the event loop)")
    with tempfile.TemporaryDirectory() as folder:
        engine_step = asyncio.run(_engine_steps(Path(folder), steps))
        journal_step = asyncio.run(_journal_steps(Path(folder), steps))
    figure("a step of the engine's own", engine_step * 1000, "ms")
    figure("an event in our journal", journal_step * 1000, "ms", baseline=engine_step * 1000)


async def _journal_steps(folder: Path, steps: int) -> float:
    engine = open_engine(f"sqlite:///{folder}/journal.db")
    migrate(engine)
    units = Units(engine, enqueue=lambda *_: None, bell=Bell())
    make_session(units)

    def write(number: int) -> None:
        with units.write() as unit:
            unit.runs.owns("run", 1)
            data = {"step": number, "text": "x" * 200}
            event = NewEvent(kind=EventKind.MESSAGE, run_id="run", key=f"k{number}", data=data)
            unit.journal.append("s", [event], at_ms=0)

    await asyncio.to_thread(write, -1)
    before = time.process_time()
    for number in range(steps):
        await asyncio.to_thread(write, number)
    spent = time.process_time() - before
    engine.dispose()
    return spent / steps


async def _engine_steps(folder: Path, steps: int) -> float:
    config: DBOSConfig = {
        "name": "bench",
        "system_database_engine": open_engine(f"sqlite:///{folder}/engine.db"),
        "log_level": "ERROR",
    }
    DBOS(config=config)

    async def step(number: int) -> dict[str, object]:
        return {"step": number, "text": "x" * 200}

    @DBOS.workflow(name="steps")
    async def workflow(count: int) -> float:
        await DBOS.run_step_async(None, step, -1)
        before = time.process_time()
        for number in range(count):
            await DBOS.run_step_async(None, step, number)
        return time.process_time() - before

    DBOS.launch()
    try:
        spent: float = await workflow(steps)
    finally:
        await asyncio.to_thread(DBOS.destroy, destroy_registry=True)
    return spent / steps
