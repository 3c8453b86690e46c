"""Runs as durable work: started after our commit, called again after a crash.

Our rows are the queue and keep the order of a session; the progress of a run is in its journal. DBOS
keeps which executor has a run in flight, and calls us again when that executor has died.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import Context
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final

import sqlalchemy as sa
import structlog
from dbos import DBOS, DBOSClient, DBOSConfig, EnqueueOptions, SetWorkflowID

from understudy.runs.model import Run

log = structlog.get_logger()

APPLICATION: Final = "understudy"
# A constant, not a hash of the code: an upgraded daemon must resume the work of an older one.
APPLICATION_VERSION: Final = "1"
WORKFLOW: Final = "run"
OLD_QUEUE: Final = "runs"
# What daemons that do not work hand over to those that do, and how often these look.
QUEUE: Final = "handed-over"
QUEUE_POLL_S: Final = 1.0
# The stop waits as long for DBOS's listener, which sleeps in between.
NOTIFICATION_POLL_S: Final = 0.2
BATCH: Final = 500
MAX_THREADS: Final = 64
# The engine's records of work, without input and output; not on the event loop.
_found: Final = partial(DBOS.list_workflows, load_input=False, load_output=False)
_handed: Final = partial(
    EnqueueOptions, workflow_name=WORKFLOW, queue_name=QUEUE, app_version=APPLICATION_VERSION
)
# Executes a run until it ends or sleeps.
Execute = Callable[[str], Awaitable[None]]
Work = Callable[[str], Coroutine[Any, Any, None]]


class DurableEngine:
    """The durable engine of this process: start runs, find lost ones, take over, stop."""

    def __init__(
        self, database: sa.Engine, *, executor_id: str, direct_url: str | None = None
    ) -> None:
        """`direct_url` leads to the server where `database` leads to a pooler."""
        self._database = database
        self._direct_url = direct_url
        self.executor_id = executor_id
        self._loop: asyncio.AbstractEventLoop | None = None
        self._work: Work | None = None
        self._client: DBOSClient | None = None
        self._starting = set[Any]()  # the loop itself keeps no strong references

    async def start(self, execute: Execute | None) -> None:
        """Create the engine's tables and resume the unfinished work of this executor.

        Without `execute` this daemon does not work: it hands its runs over to others.
        """
        if self._direct_url is not None:
            # Under a lock of its session, which a pooler would not keep.
            await asyncio.to_thread(DBOS.migrate, self._direct_url)
        self._loop = asyncio.get_running_loop()
        if execute is not None:
            await self._launch(execute)
            return
        self._client = DBOSClient(
            system_database_engine=self._database, application_name=APPLICATION, lazy=True
        )
        self._loop.set_default_executor(ThreadPoolExecutor(MAX_THREADS, "work"))

    async def _launch(self, execute: Execute) -> None:
        config: DBOSConfig = {
            "name": APPLICATION,
            "system_database_engine": self._database,
            "application_version": APPLICATION_VERSION,
            "executor_id": self.executor_id,
            # Its notifications, which nothing here uses, would need a connection that listens.
            "use_listen_notify": False,
            "notification_listener_polling_interval_sec": NOTIFICATION_POLL_S,
            "scheduler_polling_interval_sec": 3600.0,
            "enable_otlp": False,
            # Becomes the pool of `asyncio.to_thread`, which would have no bound.
            "max_executor_threads": MAX_THREADS,
            "log_level": "WARNING",
        }
        DBOS(config=config)

        async def run(run_id: str) -> None:
            await execute(run_id)

        self._work = DBOS.workflow(name=WORKFLOW, max_recovery_attempts=None)(run)
        is_shared = self._database.dialect.name == "postgresql"
        DBOS.listen_queues([QUEUE] if is_shared else [])
        # Launched from the running loop, so that runs execute on it.
        DBOS.launch()
        if is_shared:
            await DBOS.register_queue_async(QUEUE, polling_interval_sec=QUEUE_POLL_S)

    async def stop(self) -> None:
        """Start nothing more; runs in flight are resumed at the next start."""
        self._loop = None
        # Their cancellation is intended, so it is not logged.
        logging.getLogger("dbos").setLevel(logging.ERROR)
        for starting in tuple(self._starting):
            starting.cancel()
        end = self._client.destroy if self._client else partial(DBOS.destroy, destroy_registry=True)
        await asyncio.to_thread(end)

    def submit(self, run: Run) -> None:
        """Start work on a run whose row is committed; may be called from any thread.

        What cannot be started, or is cut off by a crash, is found by the sweep over our rows.
        """
        if self._loop is None:
            return
        # In a context of its own: neither the visibility of a request nor the work that woke it.
        starting = Context().run(asyncio.run_coroutine_threadsafe, self._begin(run), self._loop)
        self._starting.add(starting)
        starting.add_done_callback(self._starting.discard)

    async def _begin(self, run: Run) -> None:
        # Work of the same id, here or in another daemon, is admitted once.
        try:
            if self._work is not None:
                with SetWorkflowID(run.work_id):
                    await DBOS.start_workflow_async(self._work, run.run_id)
            elif self._client is not None:
                await self._client.enqueue_async(_handed(workflow_id=run.work_id), run.run_id)
        except Exception:
            log.exception("engine.not_started", work_id=run.work_id)

    def pending_executors(self) -> frozenset[str]:
        """Executors that have work in flight; reads all of it, so not for every second."""
        return frozenset(work.executor_id for work in _found(status="PENDING") if work.executor_id)

    def take_over(self, executor_id: str) -> bool:
        """Have the work of a dead executor resumed by any daemon; returns whether there was any."""
        in_flight = _found(status="PENDING", executor_id=executor_id)
        if in_flight:
            DBOS.resume_workflows([work.workflow_id for work in in_flight])
        return bool(in_flight)

    def lost(self, work_ids: Sequence[str]) -> tuple[str, ...]:
        """The ids among `work_ids` whose work is neither about to start nor in flight."""
        live: set[str] = set()
        for start in range(0, len(work_ids), BATCH):
            some = list(work_ids[start : start + BATCH])
            for work in _found(status=["ENQUEUED", "PENDING", "DELAYED"], workflow_ids=some):
                # Nobody takes what an older version has queued.
                if (work.status, work.queue_name) != ("ENQUEUED", OLD_QUEUE):
                    live.add(work.workflow_id)
        return tuple(work_id for work_id in work_ids if work_id not in live)

    def forget(self, work_ids: Sequence[str]) -> None:
        """Delete the engine's records of these work ids, so that they can be started again."""
        DBOS.delete_workflows(list(work_ids))

    def stranded(self, held: Collection[str]) -> frozenset[str]:
        """Work in flight on this executor by the engine's records, though no execution holds it."""
        in_flight = _found(status="PENDING", executor_id=self.executor_id, name=WORKFLOW)
        ours = frozenset(held)
        # Each wake-up of a run is separate work, named after the run.
        return frozenset(
            work.workflow_id for work in in_flight if work.workflow_id.partition(".")[0] not in ours
        )

    def put_back(self, work_id: str) -> None:
        """Have stranded work resumed; an older execution loses its right to write."""
        DBOS.resume_workflows([work_id])

    def sweep(self, *, finished_before_ms: int) -> int:
        """Delete the engine's records of work that ended before a time; our own rows stay.

        Also what an older version has queued: its records would be in the way of new work.
        """
        self.forget([work.workflow_id for work in _found(status="ENQUEUED", queue_name=OLD_QUEUE)])
        before = datetime.fromtimestamp(finished_before_ms / 1000, tz=UTC).isoformat()
        ended, deleted = ["SUCCESS", "ERROR", "CANCELLED"], 0
        while finished := _found(status=ended, completed_before=before, limit=BATCH):
            self.forget([work.workflow_id for work in finished])
            deleted += len(finished)
        return deleted
