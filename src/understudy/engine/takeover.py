"""Several daemons on one PostgreSQL: the work of dead ones is taken over."""

import asyncio
import threading
from typing import TYPE_CHECKING, Final

import structlog

from understudy.engine.durable import DurableEngine
from understudy.engine.heartbeat import connect, register, try_lock

if TYPE_CHECKING:
    import psycopg

log = structlog.get_logger()

LOOK_EVERY_S: Final = 1.0
# A free lock may belong to a daemon that only lost its connection.
LOOKS_TO_BE_SURE: Final = 3
# A revived daemon may begin work before it registers again, so a dead one is looked after for long.
LOOKS_TO_FORGET: Final = 60
# A stopped process that was taking over loses the lock of the dead executor after this.
SILENCE_MS: Final = 15_000


class Reaper:
    """Looks once a second for daemons that have died, and takes their work over."""

    def __init__(self, url: str, engine: DurableEngine) -> None:
        self._url = url
        self._engine = engine
        self._free_looks: dict[str, int] = {}

    async def run(self) -> None:
        """Look for ever, in a thread that ends with this."""
        is_over = threading.Event()
        try:
            await asyncio.to_thread(self._keep_looking, is_over)
        finally:
            is_over.set()

    def _keep_looking(self, is_over: threading.Event) -> None:
        with connect(self._url, silence_ms=SILENCE_MS) as connection:
            # Versions without `daemons` have left work behind.
            for executor_id in self._engine.pending_executors():
                register(connection, executor_id)
            while not is_over.wait(LOOK_EVERY_S):
                self.look(connection)

    def look(self, connection: "psycopg.Connection") -> None:
        """Take over from every daemon that is certainly dead."""
        rows = connection.execute("SELECT executor_id FROM daemons ORDER BY 1").fetchall()
        before, self._free_looks = self._free_looks, {}
        for (executor_id,) in rows:
            if executor_id == self._engine.executor_id:
                continue
            # Held, so that neither another daemon nor a revived one is in between.
            with try_lock(connection, executor_id) as is_free:
                looks = before.get(executor_id, 0) + 1 if is_free else 0
                self._free_looks[executor_id] = looks
                if looks >= LOOKS_TO_BE_SURE and self._engine.take_over(executor_id):
                    log.warning("executor.taken_over", executor_id=executor_id)
                if looks >= LOOKS_TO_FORGET:
                    connection.execute("DELETE FROM daemons WHERE executor_id = %s", (executor_id,))
