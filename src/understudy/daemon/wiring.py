"""Puts the parts of a daemon together, starts them in order, and stops them in reverse."""

import asyncio
import threading
from typing import Final

import structlog

from understudy.daemon.background import Background
from understudy.daemon.ground import Ground
from understudy.daemon.services import Services
from understudy.daemon.warm_up import warm_up
from understudy.daemon.work import run_executor
from understudy.settings import Settings
from understudy.storage.migrate import migrate

log = structlog.get_logger()

DRAIN_S: Final = 5.0


class Daemon:
    """All parts of one daemon process."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.ground = Ground(settings)
        self.services = Services(self.ground)
        self._background = Background(self.services)
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
        self.ground.state = "ready"

    async def drain(self) -> None:
        """Begin no new step, let those under way finish, and note that the rest is to go on."""
        self.ground.state = "draining"
        signals = self.ground.signals
        log.info("daemon.draining", runs=len(signals.active()))
        if not await self.ground.slots.drain(timeout_s=DRAIN_S):
            log.warning("drain.incomplete", runs=len(signals.active()))
        await asyncio.to_thread(self.services.runs.upkeep.park)
        self.ground.shutting_down.set()

    async def stop(self) -> None:
        """Stop everything; the database keeps what is needed to go on."""
        self.ground.state = "stopped"
        self.ground.shutting_down.set()
        self.services.skills.stop()
        await self._background.stop()
        await self.ground.engine.stop()
        await self.ground.routes.close()
        await self.services.mcp.close()
        # The engine took the thread pool with it; these only wait for their own threads.
        for listener in reversed(self._listeners):
            listener.stop()
        self.ground.database.dispose()
