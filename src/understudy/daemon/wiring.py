"""Puts the parts of a daemon together, starts them in order, and stops them in reverse."""

import asyncio
import threading
from typing import Final

import structlog

from understudy import __version__
from understudy.api.parts import AppParts
from understudy.daemon.background import Background
from understudy.daemon.ground import Ground
from understudy.daemon.services import Services
from understudy.daemon.status import StatusReport
from understudy.daemon.warm_up import warm_up
from understudy.daemon.work import run_executor
from understudy.settings import Settings
from understudy.storage.migrate import migrate
from understudy.ws.parts import WsParts

log = structlog.get_logger()

DRAIN_S: Final = 5.0


class Daemon:
    """All parts of one daemon process."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.state = "starting"
        self.shutting_down = asyncio.Event()
        self.ground = Ground(settings)
        self.services = Services(self.ground)
        self._background = Background(self.ground, self.services, self._is_draining)
        self._listeners = self.ground.listeners()

    def migrate(self) -> None:
        """Bring the database up to date."""
        migrate(self.ground.database)

    async def start(self) -> None:
        """Begin to work: what was left under way goes on."""
        ground, services = self.ground, self.services
        ground.bell.attach(asyncio.get_running_loop())
        for listener in self._listeners:
            await asyncio.to_thread(listener.start)
        await asyncio.to_thread(services.agents.service.ensure_built_in)
        # Before any run goes on: what it is told of others must be in order.
        await asyncio.to_thread(services.run_memories.startup)
        await asyncio.to_thread(services.skills.startup)
        await asyncio.to_thread(services.rollout.startup)
        await ground.engine.start(run_executor(ground, services).execute)
        await asyncio.to_thread(services.runs.upkeep.requeue_lost)
        self._background.start()
        # Some providers take seconds to load; not at the cost of the first run.
        threading.Thread(target=warm_up, args=[ground], name="warm-up", daemon=True).start()
        self.state = "ready"

    async def drain(self) -> None:
        """Begin no new step, let those under way finish, and note that the rest is to go on."""
        self.state = "draining"
        signals = self.ground.signals
        log.info("daemon.draining", runs=len(signals.active()))
        if not await self.ground.slots.drain(timeout_s=DRAIN_S):
            log.warning("drain.incomplete", runs=len(signals.active()))
        await asyncio.to_thread(self.services.runs.upkeep.park)
        self.shutting_down.set()

    async def stop(self) -> None:
        """Stop everything; the database keeps what is needed to go on."""
        self.state = "stopped"
        self.shutting_down.set()
        self.services.skills.stop()
        await self._background.stop()
        await self.ground.engine.stop()
        await self.ground.routes.close()
        await self.services.mcp.close()
        # The engine took the thread pool with it; these only wait for their own threads.
        for listener in reversed(self._listeners):
            listener.stop()
        self.ground.database.dispose()

    def parts(self) -> AppParts:
        """What the API works with."""
        ground, services = self.ground, self.services
        return AppParts(
            settings=self.settings,
            clock=ground.clock,
            units=ground.units,
            sessions=services.sessions,
            personas=services.personas,
            projects=services.projects,
            tasks=services.tasks,
            sidechains=services.runs.sidechains,
            agents=services.agents.service,
            user_files=services.agents.user_files,
            proposals=services.agents.proposals,
            evolution=services.agents.evolution,
            assets=services.assets,
            schedules=services.schedules,
            mailboxes=services.mailboxes,
            runs=services.runs.service,
            approvals=services.runs.approvals,
            questions=services.runs.questions,
            deliveries=services.deliveries,
            webhook_secret=services.webhook_secret,
            runtime=services.runtime,
            run_memories=services.run_memories,
            inspection=services.inspection,
            candidates=services.learning.candidates,
            bulk_decisions=services.learning.bulk_decisions,
            learnings=services.learning.learnings,
            learning_policy=services.learning.policy,
            rollouts=services.rollouts,
            trials=services.trials,
            skills=services.skills.service,
            skill_library=services.skills.library,
            skill_catalogue=services.skills.catalogue,
            skill_dependencies=services.skills.dependencies,
            tokens=services.tokens,
            routes=ground.routes,
            tools=services.known_tools,
            offers=services.offers,
            mcp=services.mcp,
            session_mcp=services.session_mcp,
            daemon_rules=services.daemon_rules,
            metrics=services.metrics,
            bell=ground.bell,
            deltas=ground.deltas,
            readiness=self._readiness,
            status=self._status(),
            shutting_down=self.shutting_down,
        )

    def ws_parts(self) -> WsParts:
        """What the WebSocket works with."""
        ground, skills = self.ground, self.services.skills
        return WsParts(
            tokens=self.services.tokens,
            agents=self.services.agents.service,
            skills=skills.service,
            library=skills.library,
            events=skills.events,
            units=ground.units,
            clock=ground.clock,
            version=__version__,
            is_loopback=self.settings.is_loopback,
            readiness=self._readiness,
            shutting_down=self.shutting_down,
        )

    def _readiness(self) -> str | None:
        return None if self.state == "ready" else self.state

    def _is_draining(self) -> bool:
        return self.state == "draining"

    def _status(self) -> StatusReport:
        ground, services = self.ground, self.services
        return StatusReport(
            units=ground.units,
            clock=ground.clock,
            routes=ground.routes,
            settings=self.settings,
            defaults=services.defaults,
            state=lambda: self.state,
            mcp_servers=services.mcp.statuses,
            run_memory=services.run_memories.status,
            session_memory=services.learning.prompts.snapshot,
            learning=services.learning.status,
            skills=services.skills.status,
            rollouts=services.rollout.status,
        )
