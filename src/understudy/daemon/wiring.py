"""Builds every part of the daemon, starts them in order, and stops them in reverse."""

import asyncio
import os
import socket
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import Final

import structlog

from understudy.access.tokens import TokenService
from understudy.agent.capture import Captures
from understudy.agent.loop import AgentLoop
from understudy.agent.slots import Slots
from understudy.agent.stream import DeltaHub
from understudy.agent.toolbox import Toolbox
from understudy.agents.service import AgentService
from understudy.api.parts import AppParts
from understudy.core.bell import Bell
from understudy.core.clock import SystemClock
from understudy.core.ids import new_id
from understudy.daemon.routes import ConfiguredRoutes
from understudy.daemon.status import StatusReport
from understudy.engine.durable import DurableEngine
from understudy.engine.takeover import Heartbeat, Reaper
from understudy.providers.registry import Routes
from understudy.redaction.scrub import scrub, scrub_json
from understudy.runs.execute import RunExecutor
from understudy.runs.model import DebugLevel
from understudy.runs.ports import RunUnit
from understudy.runs.service import RunService, RuntimeDefaults
from understudy.runs.stops import StopSignals, watch_stop_requests
from understudy.runs.upkeep import Upkeep
from understudy.runtime.service import RuntimeService
from understudy.sessions.persona import PersonaService
from understudy.sessions.projects import ProjectService
from understudy.sessions.service import SessionService
from understudy.settings import Settings
from understudy.storage.engine import open_engine
from understudy.storage.migrate import migrate
from understudy.storage.postgres import EventListener
from understudy.storage.unit import SqlUnits
from understudy.telemetry.metrics import Metrics
from understudy.tools.files import ListFiles, ReadFile, WriteFile
from understudy.tools.registry import ToolRegistry

log = structlog.get_logger()

LOCAL_EXECUTOR: Final = "local"
DRAIN_S: Final = 5.0
STOP_LOOK_S: Final = 0.5
STRANDED_LOOK_S: Final = 5.0
SWEEP_EVERY_S: Final = 3600.0
RETRY_S: Final = 1.0
RESPONSES_KEPT_MS: Final = 24 * 3600 * 1000
UNFINISHED_KEPT_MS: Final = 10 * 60 * 1000


class Daemon:
    """All parts of one daemon process."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.clock = SystemClock()
        self.bell = Bell()
        self.state = "starting"
        self.shutting_down = asyncio.Event()
        self.signals = StopSignals()
        self.slots = Slots(settings.max_active_steps)
        self.deltas = DeltaHub(self.bell)
        self.tools = ToolRegistry([ReadFile(), WriteFile(), ListFiles()])
        self.metrics = Metrics(self.tools.names())
        self.providers = Routes(settings, scrub=partial(scrub, literals=settings.secrets))
        self.routes = ConfiguredRoutes(settings, self.providers)
        self.database = open_engine(settings.database_url)
        is_sqlite = settings.is_sqlite
        self.engine = DurableEngine(
            self.database, executor_id=LOCAL_EXECUTOR if is_sqlite else _executor_id()
        )
        self.units = SqlUnits(
            self.database,
            enqueue=self.engine.enqueue,
            enqueued=self.engine.look,
            bell=self.bell,
        )
        self._tasks: list[asyncio.Task[None]] = []
        self._listeners: list[EventListener | Heartbeat] = []
        if not is_sqlite:
            url = settings.database_url
            self._listeners = [
                EventListener(url, lambda session_id: self.units.ring({session_id})),
                Heartbeat(url, self.engine.executor_id),
            ]
        self.runtime = RuntimeService(self.units, self.clock)
        self.agents = AgentService(self.units, self.clock, self._route_exists)
        admin = settings.admin_token
        self.tokens = TokenService(
            self.units,
            self.clock,
            admin_token=admin.get_secret_value() if admin else None,
            is_loopback=settings.is_loopback,
        )
        self.runs = RunService(
            self.units, self.clock, self.routes, self.defaults, self.signals.request
        )
        self.sessions = SessionService(self.units, self.clock, self._route_exists)
        self.upkeep = Upkeep(
            self.units, self.clock, self.engine, self.signals, self.units.exclusively
        )

    def migrate(self) -> None:
        """Bring the database up to date."""
        migrate(self.database)

    async def start(self) -> None:
        """Begin to work: what was left under way goes on."""
        loop = asyncio.get_running_loop()
        self.bell.attach(loop)
        for listener in self._listeners:
            await asyncio.to_thread(listener.start)
        await asyncio.to_thread(self.agents.ensure_default)
        await self.engine.start(self._executor().execute)
        await asyncio.to_thread(self.upkeep.requeue_lost)
        self._keep("stop-watch", self._watch_stops)
        self._keep("stranded-watch", self._watch_stranded)
        self._keep("sweep", self._sweep)
        if not self.settings.is_sqlite:
            self._keep("reaper", Reaper(self.settings.database_url, self.engine).run)
        # Some providers take seconds to load; not at the cost of the first run.
        threading.Thread(target=self.providers.warm, name="warm-up", daemon=True).start()
        self.state = "ready"

    async def drain(self) -> None:
        """Begin no new step, let those under way finish, and note that the rest is to go on."""
        self.state = "draining"
        log.info("daemon.draining", runs=len(self.signals.active()))
        if not await self.slots.drain(timeout_s=DRAIN_S):
            log.warning("drain.incomplete", runs=len(self.signals.active()))
        await asyncio.to_thread(self.upkeep.park)
        self.shutting_down.set()

    async def stop(self) -> None:
        """Stop everything; the database keeps what is needed to go on."""
        self.state = "stopped"
        self.shutting_down.set()
        for task in self._tasks:
            task.cancel()
        for task in self._tasks:
            with suppress(asyncio.CancelledError):
                await task
        await self.engine.stop()
        await self.providers.close()
        # The engine took the thread pool with it; these only wait for their own threads.
        for listener in reversed(self._listeners):
            listener.stop()
        self.database.dispose()

    def parts(self) -> AppParts:
        """What the API works with."""
        return AppParts(
            settings=self.settings,
            clock=self.clock,
            units=self.units,
            sessions=self.sessions,
            personas=PersonaService(self.units, self.clock),
            projects=ProjectService(self.units, self.clock),
            agents=self.agents,
            runs=self.runs,
            runtime=self.runtime,
            tokens=self.tokens,
            routes=self.routes,
            tools=self.tools,
            metrics=self.metrics,
            bell=self.bell,
            deltas=self.deltas,
            readiness=lambda: None if self.state == "ready" else self.state,
            status=StatusReport(
                self.units, self.clock, self.routes, self.settings, self.defaults, self._state
            ),
            shutting_down=self.shutting_down,
        )

    def defaults(self) -> RuntimeDefaults:
        """The route and debug level for runs that name none."""
        document = self.runtime.current().document
        return RuntimeDefaults(
            route_id=document.get("default_route") or self.settings.default_route,
            debug_level=DebugLevel(document.get("debug_level") or self.settings.debug_level),
        )

    def _route_exists(self, route_id: str) -> bool:
        return self.routes.find(route_id) is not None

    def _state(self) -> str:
        return self.state

    def _executor(self) -> RunExecutor:
        secrets = self.settings.secrets
        toolbox = Toolbox(self.tools, self.settings.workspace, self.slots, self.metrics)
        worker = AgentLoop(
            units=self.units,
            providers=self.providers.get,
            routes=self.routes,
            toolbox=toolbox,
            enabled_tools=self._enabled_tools,
            captures=Captures(self.units, self.clock, partial(scrub_json, literals=secrets)),
            deltas=self.deltas,
            slots=self.slots,
            observer=self.metrics,
        )
        return RunExecutor(
            self.units,
            self.clock,
            worker,
            self.signals,
            self.metrics,
            self.slots.enter_unless_draining,
        )

    def _enabled_tools(self, unit: RunUnit) -> tuple[str, ...]:
        disabled = unit.tool_switches.disabled()
        return tuple(name for name in self.tools.names() if name not in disabled)

    async def _sweep(self) -> None:
        while True:
            await asyncio.to_thread(self._sweep_once)
            await asyncio.sleep(SWEEP_EVERY_S)

    def _sweep_once(self) -> None:
        now = self.clock.now_ms()
        keep_ms = self.settings.history_retention_hours * 3600 * 1000
        self.engine.sweep(finished_before_ms=now - keep_ms)
        with self.units.write() as unit:
            unit.responses.sweep(
                before_ms=now - RESPONSES_KEPT_MS, unfinished_before_ms=now - UNFINISHED_KEPT_MS
            )

    async def _watch_stranded(self) -> None:
        while self.state != "draining":
            await asyncio.sleep(STRANDED_LOOK_S)
            await asyncio.to_thread(self.upkeep.put_back_stranded)

    async def _watch_stops(self) -> None:
        await watch_stop_requests(self.signals, self.upkeep.stop_requests, every_s=STOP_LOOK_S)

    def _keep(self, name: str, work: Callable[[], Awaitable[None]]) -> None:
        self._tasks.append(asyncio.create_task(_keep_going(name, work)))


async def _keep_going(name: str, work: Callable[[], Awaitable[None]]) -> None:
    """Do background work for ever; a failure is told and tried again."""
    while True:
        try:
            await work()
        except Exception as problem:  # noqa: BLE001 - it must outlive a database that is away
            log.warning("background.failed", work=name, reason=str(problem)[:200])
        await asyncio.sleep(RETRY_S)


def _executor_id() -> str:
    return f"{socket.gethostname()}-{os.getpid()}-{new_id('exe')}"
