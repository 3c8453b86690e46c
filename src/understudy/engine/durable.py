"""Runs as durable work: queued with our own rows, one at a time per session, resumed after a crash.

DBOS keeps the queue, the order within a session and the executor of each item. The progress of a
run is in its journal, so the engine only has to call us again.
"""

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable, Collection, Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from itertools import chain, repeat
from typing import Any, Final

import sqlalchemy as sa
import structlog
from dbos import DBOS, DBOSConfig
from dbos._queue import queue_thread
from dbos._scheduler import dynamic_scheduler_loop
from dbos._workflow_commands import workflow_timeout_thread

from understudy.engine.claim import Turn, start_due
from understudy.engine.entry import enter
from understudy.engine.outcomes import SettledWork
from understudy.runs.model import Run
from understudy.work.worker import LONGEST_DOZE_S

log = structlog.get_logger()

APPLICATION: Final = "understudy"
# A constant, not a hash of the code: an upgraded daemon must resume the work of an older one.
APPLICATION_VERSION: Final = "1"
QUEUE: Final = "runs"
WORKFLOW: Final = "run"
NOTIFICATION_POLL_S: Final = 0.2
BATCH: Final = 500
MAX_THREADS: Final = 64
# Executes a run; returns whether its session may have another one queued.
Execute = Callable[[str], Awaitable[bool]]
LOOK_EVERY_S: Final = 1.0
# Where no other daemon enqueues, every new run wakes the dispatcher; only work that the engine
# recovers at startup does not.
START_LOOKS: Final = 30


class DurableEngine:
    """The durable engine of this process: start, enqueue, sweep, stop."""

    def __init__(self, database: sa.Engine, *, executor_id: str) -> None:
        self._database = database
        self.executor_id = executor_id
        self._dispatcher: Dispatcher | None = None
        self._instance: DBOS | None = None
        self._outcomes = SettledWork()
        self._looks = 0
        self._work = _work_table(database.dialect.name)

    async def start(self, execute: Execute, *, turn: Turn) -> None:
        """Create the engine's tables, resume unfinished work, and begin to dequeue runs.

        `turn` is the writers' turn of this process, where they take turns.
        """
        config: DBOSConfig = {
            "name": APPLICATION,
            "system_database_engine": self._database,
            "application_version": APPLICATION_VERSION,
            "executor_id": self.executor_id,
            "notification_listener_polling_interval_sec": NOTIFICATION_POLL_S,
            "enable_otlp": False,
            # Becomes the pool of `asyncio.to_thread`; without a bound a burst starts a thousand
            # threads.
            "max_executor_threads": MAX_THREADS,
            "log_level": "WARNING",
        }
        instance = DBOS(config=config)

        async def run(run_id: str) -> None:
            more = await execute(run_id)
            looks = self._looks
            task = asyncio.current_task()
            if task is not None:
                # After the engine has stored the end, the session's next run may start. Polling is
                # expensive, so it happens only if one is queued or was queued since.
                task.add_done_callback(
                    lambda _: self.look() if more or self._looks != looks else None
                )

        DBOS.workflow(name=WORKFLOW, max_recovery_attempts=None)(run)
        # `Dispatcher` polls the queue.
        DBOS.listen_queues([])
        # Launched from the running loop, so that runs execute on it.
        DBOS.launch()
        _stop_idle_polls(instance)
        self._outcomes.attach(instance)
        await DBOS.register_queue_async(
            QUEUE,
            partition_concurrency=1,
            polling_interval_sec=LOOK_EVERY_S,
            on_conflict="always_update",
        )
        self._instance = instance
        self._dispatcher = Dispatcher(self._work_on(instance, turn))
        self._dispatcher.start()

    def _work_on(self, instance: DBOS, turn: Turn) -> Callable[["Nudge"], None]:
        """The loop of the dispatcher's thread."""
        claim = partial(start_due, instance, self._database, QUEUE, APPLICATION, turn)
        # On PostgreSQL other daemons enqueue as well, and their runs do not ring here.
        rests = LONGEST_DOZE_S if self._database.dialect.name == "sqlite" else LOOK_EVERY_S
        return partial(dispatch, claim, rests)

    async def stop(self) -> None:
        """Stop dequeuing; runs in flight are resumed at the next start."""
        # Their cancellation is intended, so it is not logged.
        logging.getLogger("dbos").setLevel(logging.ERROR)
        if self._dispatcher is not None:
            await asyncio.to_thread(self._dispatcher.stop)
        await asyncio.to_thread(DBOS.destroy, destroy_registry=True)
        self._instance = None

    def enqueue(self, connection: sa.Connection, run: Run) -> None:
        """Queue a run within the caller's transaction."""
        if self._instance is None:
            raise RuntimeError("the engine has not been started")
        enter(
            connection,
            {
                "queue_name": QUEUE,
                "workflow_name": WORKFLOW,
                "workflow_id": run.work_id,
                "queue_partition_key": run.session_id,
                # Position in our line; the engine's own order depends on clocks.
                "priority": run.accepted_offset,
                "app_version": APPLICATION_VERSION,
            },
            self._instance._serializer,  # noqa: SLF001 - there is no public way
            run.run_id,
            application=APPLICATION,
        )

    def settle(self, connection: sa.Connection, run: Run) -> Callable[[], None] | None:
        """Store within the caller's transaction that the work on a run is done.

        Returns a callback for after the commit; None when the caller does not execute this work,
        which the engine then finds out by itself.
        """
        return self._outcomes.settle(connection, run.work_id)

    def look(self) -> None:
        """Wake the dispatcher, because a run was enqueued; may be called from any thread."""
        self._looks += 1
        if self._dispatcher is not None:
            self._dispatcher.look()

    def pending_executors(self) -> frozenset[str]:
        """Executors that have work in flight according to the engine's records."""
        query = (
            sa.select(self._work.c.executor_id).where(self._work.c.status == "PENDING").distinct()
        )
        return self._scalars(query)

    def take_over(self, executor_id: str) -> None:
        """Put the work of a dead executor back into the queue; idempotent."""
        DBOS._recover_pending_workflows([executor_id])  # noqa: SLF001 - there is no public way
        self.look()

    def lost(self, work_ids: Sequence[str]) -> tuple[str, ...]:
        """The ids among `work_ids` whose work is neither queued nor in flight."""
        live: set[str] = set()
        for start in range(0, len(work_ids), BATCH):
            live |= {
                workflow.workflow_id
                for workflow in DBOS.list_workflows(
                    workflow_ids=list(work_ids[start : start + BATCH]),
                    status=["ENQUEUED", "PENDING", "DELAYED"],
                    load_input=False,
                    load_output=False,
                )
            }
        return tuple(work_id for work_id in work_ids if work_id not in live)

    def forget(self, work_ids: Sequence[str]) -> None:
        """Delete the engine's records of these work ids, so that they can be queued again."""
        DBOS.delete_workflows(list(work_ids))

    def stranded(self, held: Collection[str]) -> frozenset[str]:
        """Work in flight on this executor by the engine's records, though no execution holds it."""
        query = sa.select(self._work.c.workflow_uuid).where(
            self._work.c.status == "PENDING",
            self._work.c.executor_id == self.executor_id,
            self._work.c.name == WORKFLOW,
        )
        # Each wake-up of a run is separate work, named after the run.
        ours = frozenset(held)
        return frozenset(
            work_id for work_id in self._scalars(query) if work_id.partition(".")[0] not in ours
        )

    def put_back(self, work_id: str) -> None:
        """Queue stranded work again; an older execution loses its right to write."""
        if self._instance is not None:
            records = self._instance._sys_db  # noqa: SLF001 - there is no public way
            records.reenqueue_for_recovery(work_id, [self.executor_id], QUEUE)
        self.look()

    def sweep(self, *, finished_before_ms: int) -> int:
        """Delete the engine's records of work that ended before a time; our own rows stay."""
        before = datetime.fromtimestamp(finished_before_ms / 1000, tz=UTC).isoformat()
        deleted = 0
        while True:
            finished = DBOS.list_workflows(
                status=["SUCCESS", "ERROR", "CANCELLED"],
                completed_before=before,
                limit=BATCH,
                load_input=False,
                load_output=False,
            )
            if not finished:
                return deleted
            DBOS.delete_workflows([workflow.workflow_id for workflow in finished])
            deleted += len(finished)

    def _scalars(self, query: sa.Select[Any]) -> frozenset[str]:
        with self._database.connect() as connection:
            return frozenset(value for value in connection.execute(query).scalars() if value)


def _stop_idle_polls(instance: DBOS) -> None:
    """End the engine's threads that poll for features we never use: time-outs, delays, schedules.

    Runs are dequeued by `Dispatcher`, so DBOS's queue manager is not needed either. There is no
    setting for this; a thread that cannot be found goes on polling, which does no harm.
    """
    idle = (queue_thread, dynamic_scheduler_loop, workflow_timeout_thread)
    for thread in instance._background_threads:  # noqa: SLF001 - there is no public way
        if vars(thread).get("_target") in idle:
            stop, *_ = vars(thread)["_args"]
            stop.set()


def _work_table(dialect: str) -> sa.TableClause:
    """The columns that we read of the engine's own work table."""
    return sa.table(
        "workflow_status",
        sa.column("workflow_uuid"),
        sa.column("name"),
        sa.column("status"),
        sa.column("executor_id"),
        schema="dbos" if dialect == "postgresql" else None,
    )


class Nudge(threading.Event):
    """The stop event of the dispatcher's thread, whose wait can also be interrupted."""

    def __init__(self) -> None:
        super().__init__()
        self._rung = threading.Event()

    def ring(self) -> None:
        """Wake the thread to poll now."""
        self._rung.set()

    def set(self) -> None:
        """End the thread."""
        super().set()
        self._rung.set()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for a wake-up or a stop; returns whether it was a stop."""
        self._rung.wait(timeout)
        self._rung.clear()
        return self.is_set()


def _looks(rests: float) -> Iterator[float]:
    return chain(repeat(LOOK_EVERY_S, START_LOOKS), repeat(rests))


def dispatch(claim: Callable[[], None], rests: float, nudge: Nudge) -> None:
    """Claim and start work until the stop: when a run of this daemon rings, and every `rests` seconds.

    Work that the engine recovers at startup does not ring, so the first polls are frequent.
    """
    looks = _looks(rests)
    while not nudge.wait(next(looks)):
        try:
            claim()
        except sa.exc.DBAPIError as problem:
            log.warning("engine.not_dispatched", reason=str(problem.orig)[:200])
            looks = _looks(rests)
        except Exception:
            # Claimed work is stranded now; the watch for stranded work puts it back.
            log.exception("engine.not_dispatched")
            # Nothing rings again for what is still queued, so poll often.
            looks = _looks(rests)


class Dispatcher:
    """Takes work from the queue in a thread that can be woken at once."""

    def __init__(self, work: Callable[[Nudge], None]) -> None:
        self._nudge = Nudge()
        self._thread = threading.Thread(
            target=work, args=(self._nudge,), name="dispatcher", daemon=True
        )

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def look(self) -> None:
        """Poll the queue now; may be called from any thread."""
        self._nudge.ring()

    def stop(self) -> None:
        """Stop dequeuing runs."""
        self._nudge.set()
        self._thread.join(timeout=10)
