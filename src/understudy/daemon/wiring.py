"""The daemon: builds its parts and the agent loop, starts them in order, stops in reverse."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import Final

import structlog

from understudy.agent.admission import Doorkeeper
from understudy.agent.compaction import Compactor
from understudy.agent.gate import Gatekeeper
from understudy.agent.loop import AgentLoop
from understudy.agent.model_call import DebugLog, ModelCaller
from understudy.agent.toolbox import Toolbox
from understudy.core.clock import Clock, SystemClock
from understudy.core.errors import UnderstudyError
from understudy.daemon.background import Background
from understudy.daemon.resources import Resources
from understudy.daemon.services import Services
from understudy.evolution.consent import ConsentRecords, SkillOwnership
from understudy.evolution.hints import Hints
from understudy.evolution.names import SkillPlaces
from understudy.evolution.offer_book import OfferBook
from understudy.foreign.connections import connections
from understudy.mcp import endpoint as mcp
from understudy.memory.policy import policy_in
from understudy.redaction.scrub import Json, scrub_counted, scrub_json
from understudy.retrieval.documents import Document, Field
from understudy.retrieval.score import rank
from understudy.review.policy import capture_in
from understudy.rollout.replay.stand_ins import RecordedTools
from understudy.runs.execute import RunExecutor
from understudy.settings import Settings
from understudy.storage.migrate import migrate

log = structlog.get_logger()

DRAIN_S: Final = 5.0
# How long a start waits for the comparison of run memories, some ten thousand. Of many that were
# changed, the first ends it.
MEMORIES_WAIT_S: Final = 0.2
# Exercises all slow paths of the scrubber: words, and a possible phone number.
SAMPLE: Final = "Deployed the gateways; call +1 415 555 2671."


class Daemon:
    """All parts of one daemon process."""

    def __init__(self, settings: Settings, *, clock: Clock | None = None) -> None:
        self.settings = settings
        self.resources = Resources(settings, clock or SystemClock())
        self.services = Services(self.resources)
        self._background = Background(self.services)
        self._listeners = self.resources.listeners()
        self._memories: asyncio.Task[None] | None = None
        # A rebuild of the index of run memories locks out all other writers on SQLite, and the engine
        # starts with writes.
        self._alone = asyncio.Lock()

    def migrate(self) -> None:
        """Migrate the database."""
        migrate(self.resources.database)

    async def start(self) -> None:
        """Start the parts and resume unfinished work."""
        resources, services = self.resources, self.services
        resources.bell.attach(asyncio.get_running_loop())
        for listener in self._listeners:
            await asyncio.to_thread(listener.start)
        await asyncio.to_thread(services.agents.service.ensure_built_in)
        await asyncio.to_thread(services.projects.tasks.reconcile)
        await asyncio.to_thread(services.skills.startup)
        await asyncio.to_thread(services.rollout.startup)
        if self.settings.role == "api":
            await resources.engine.start(None)
        else:
            await self._start_work()
        self._background.start()
        self.resources.state = "ready"

    async def _start_work(self) -> None:
        # All records are compared: runs wait for that, and requests do not.
        self._memories = asyncio.create_task(self._settle_memories())
        await asyncio.wait({self._memories}, timeout=MEMORIES_WAIT_S)
        execute = run_executor(self.resources, self.services, admit=self._admit).execute
        async with self._alone:
            await self.resources.engine.start(execute)
            await asyncio.to_thread(self.services.runs.upkeep.requeue_lost)

    async def _settle_memories(self) -> None:
        memories = self.services.run_memories
        if not await asyncio.to_thread(memories.is_settled):
            async with self._alone:
                await asyncio.to_thread(memories.startup)

    async def _admit(self) -> None:
        """Wait until a run may work: its memories must be consistent, and the daemon not draining."""
        if self._memories is not None:
            await asyncio.wait({self._memories})
        await self.resources.slots.enter_unless_draining()

    async def drain(self) -> None:
        """Begin no new step, let those in flight finish, and park the other runs."""
        self.resources.state = "draining"
        signals = self.resources.signals
        log.info("daemon.draining", runs=len(signals.active()))
        if not await self.resources.slots.drain(timeout_s=DRAIN_S):
            log.warning("drain.incomplete", runs=len(signals.active()))
        await asyncio.to_thread(self.services.runs.upkeep.park)
        self.resources.shut_down()

    async def stop(self) -> None:
        """Stop everything; unfinished work is resumed from the database at the next start."""
        self.resources.state = "stopped"
        self.resources.shut_down()
        self.services.skills.stop()
        # First: ends are recorded, and nobody else would end the background tasks.
        await self.services.background_runner.close()
        await self._background.stop()
        if self._memories is not None:
            await self._memories
        await self.resources.engine.stop()
        await self.resources.routes.close()
        await self.services.mcp.close()
        # The engine's shutdown took the thread pool, so this is done here. A database that is away is
        # no reason: the next start seals.
        with suppress(UnderstudyError):
            self.resources.units.seal()
        # These only wait for their own threads.
        if self.services.spans is not None:
            self.services.spans.stop()
        for listener in reversed(self._listeners):
            listener.stop()
        self.resources.database.dispose()
        self.resources.engine_database.dispose()


def run_executor(
    resources: Resources, services: Services, *, admit: Callable[[], Awaitable[None]]
) -> RunExecutor:
    """The executor of runs; `admit` returns when one may begin."""
    return RunExecutor(
        units=resources.units,
        clock=resources.clock,
        worker=_loop(resources, services),
        signals=resources.signals,
        observer=services.metrics,
        admit=admit,
        run_ended=services.run_ended,
        run_asked=services.runs.sidechain_links.asked,
        hints=Hints(capture_in, services.is_offline).events,
        ready=services.skills.catalogue.refresh,
        prescrub=services.capture.prescrub,
        has_spans=services.spans is not None,
        most_in_flight=resources.settings.max_runs_in_flight_per_user,
    )


def _loop(resources: Resources, services: Services) -> AgentLoop:
    settings, units, clock = resources.settings, resources.units, resources.clock
    offers = OfferBook(clock)
    places = SkillPlaces(settings.workspace, services.skills.local.roots)
    consent = ConsentRecords(
        clock, offers, SkillOwnership(units), is_local_skill=places.has, scrub=resources.scrub
    )
    doorkeeper = Doorkeeper(units, clock, Gatekeeper(), consent, settings.approval_expires_s)
    return AgentLoop(
        units=units,
        routes=resources.routes,
        toolbox=Toolbox(
            doorkeeper, settings.workspace, resources.slots, services.metrics, services.worktrees
        ),
        registry=services.tools,
        prompts=services.prompts,
        model=ModelCaller(
            routes=resources.routes,
            debug_log=DebugLog(units, clock, partial(_scrub_captured, resources)),
            deltas=resources.deltas,
            slots=resources.slots,
            observer=services.metrics,
        ),
        compactor=Compactor(scrub=resources.scrub),
        coach=services.prompts.coach,
        consent=consent,
        stand_ins=RecordedTools(units),
    )


def _scrub_captured(resources: Resources, captured: Json) -> Json:
    """A captured provider request, scrubbed; personal data by the policy."""
    with resources.units.read() as unit:
        pii = policy_in(unit).redact_pii
    return scrub_json(captured, literals=resources.settings.secrets, pii=pii)


def warm_up(resources: Resources) -> None:
    """Preload the providers, the scrubber and the scorer; with connected agents, their library."""
    resources.routes.warm()
    make_tables()
    if connections(resources.settings.home):
        mcp.warm_up()


def make_tables() -> None:
    """Build the tables of the scrubber and the scorer."""
    scrub_counted(SAMPLE, pii=True)
    rank("deploy", [Document(id="", fields=(Field(name="", text=SAMPLE),))])
