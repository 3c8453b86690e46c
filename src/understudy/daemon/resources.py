"""Resources that a daemon process opens once: database, engine, routes, and blob stores."""

import asyncio
import os
import socket
from functools import partial
from typing import Final

import psycopg
import sqlalchemy as sa

from understudy.agent.model_call import DeltaHub, Slots
from understudy.core.bell import STOPPING, Bell
from understudy.core.clock import Clock
from understudy.core.ids import new_id
from understudy.core.shared_reads import SharedReads
from understudy.engine.durable import DurableEngine
from understudy.engine.heartbeat import SILENCE_MS, Heartbeat, connect, try_lock
from understudy.providers.registry import Routes
from understudy.redaction.scrub import scrub
from understudy.runs.stops import StopSignals
from understudy.sample import story as sample
from understudy.settings import Settings
from understudy.storage.announcements import Announcements
from understudy.storage.assets import FileBlobs, SqlBlobs
from understudy.storage.engine import open_engine
from understudy.storage.revision_cache import RevisionCache
from understudy.storage.run_memory_files import FileRunMemories
from understudy.storage.run_memory_rows import SqlRunMemories
from understudy.storage.skill_bundle_cache import BundleCache
from understudy.storage.skill_bundle_files import FileSkillBundles
from understudy.storage.skill_bundle_rows import SqlSkillBundles
from understudy.storage.unit import OpenBlobs, OpenRunMemories, OpenSkillBundles, Units
from understudy.tools.processes import ChildProcesses
from understudy.work.worker import LONGEST_DOZE_S, SHARED_DOZE_S

LOCAL_EXECUTOR: Final = "local"
ENGINE_FILE: Final = "engine.sqlite"
ASSETS: Final = "assets"
RUN_MEMORIES: Final = "run-memories"
SKILLS: Final = "skills-store"
# Cache of bundles in the database, by digest, so that files of a skill can be opened.
SKILLS_CACHE: Final = "skills-cache"


class Resources:
    """Opened once per process; the services are built on these."""

    def __init__(self, settings: Settings, clock: Clock) -> None:
        self.settings = settings
        # `starting`, `ready`, `draining` or `stopped`.
        self.state = "starting"
        self.shutting_down = asyncio.Event()
        self.clock = clock
        self.bell = Bell()
        self.reads = SharedReads()
        self.signals = StopSignals()
        self.children = ChildProcesses()
        self.slots = Slots(settings.max_active_steps)
        self.deltas = DeltaHub(self.bell)
        self.scrub = partial(scrub, literals=settings.secrets)
        self.routes = Routes(settings, scrub=self.scrub, built_in=sample.ROUTES)
        self.database = open_engine(settings.database_url, settings.database)
        # Another one at each start, while the executor of SQLite keeps its name.
        self.process_id = _process_id()
        self.engine_database = self._open_engine_database()
        self.engine = DurableEngine(
            self.engine_database,
            executor_id=LOCAL_EXECUTOR if settings.is_sqlite else self.process_id,
            direct_url=settings.direct_url
            if settings.role == "api"
            else settings.database.direct_url,
        )
        self.cache = RevisionCache()
        # None where no other daemon uses the database.
        self.announcements = (
            None
            if settings.is_sqlite
            else Announcements(settings.direct_url, self.bell, self.cache)
        )
        self.units = Units(
            self.database,
            enqueue=self.engine.submit,
            bell=self.bell,
            blobs=open_blobs(settings),
            run_memories=open_run_memories(settings),
            skill_bundles=open_skill_bundles(settings),
            cache=self.cache,
            announce=(lambda _: None) if self.announcements is None else self.announcements.tell,
        )

    @property
    def doze_s(self) -> float:
        """How long workers sleep on where nothing is committed."""
        return LONGEST_DOZE_S if self.settings.is_sqlite else SHARED_DOZE_S

    def _open_engine_database(self) -> sa.Engine:
        """The durable engine's records: with SQLite in a file of their own, written at any time."""
        if not self.settings.is_sqlite:
            return self.database
        return open_engine(f"sqlite:///{self.settings.home / ENGINE_FILE}")

    def listeners(self) -> tuple[Announcements | Heartbeat, ...]:
        """The connections that tie this daemon to others on the same database."""
        if self.announcements is None:
            return ()
        return (
            self.announcements,
            Heartbeat(self.settings.direct_url, self.engine.executor_id),
        )

    def is_gone(self, process_id: str | None) -> bool:
        """Whether the daemon of that name has ended; None, which is unknown, has not."""
        if process_id is None or process_id == self.process_id:
            return False
        if self.settings.is_sqlite:
            return True  # only one daemon at a time opens the file
        try:
            with (
                connect(self.settings.direct_url, silence_ms=SILENCE_MS) as connection,
                try_lock(connection, process_id) as is_free,
            ):
                return is_free
        except psycopg.Error:
            return False  # unknown, as where the server has no connection left

    def shut_down(self) -> None:
        """End everything that waits for events: streams, sockets, inline requests."""
        self.shutting_down.set()
        self.bell.ring(STOPPING)

    def readiness(self) -> str | None:
        """None when ready, else why not: `starting` or `draining`."""
        return None if self.state == "ready" else self.state

    def route_exists(self, route_id: str) -> bool:
        """Whether there is such a route."""
        return self.routes.find(route_id) is not None

    def route_ids(self) -> list[str]:
        """The ids of all routes."""
        return [route.route_id for route in self.routes.all()]


def _process_id() -> str:
    return f"{socket.gethostname()}-{os.getpid()}-{new_id('exe')}"


def open_blobs(settings: Settings) -> OpenBlobs:
    """Opens the asset blobs: files with SQLite, else rows."""
    if not settings.is_sqlite:
        return SqlBlobs
    files = FileBlobs(settings.home / ASSETS)
    return lambda _: files


def open_run_memories(settings: Settings) -> OpenRunMemories:
    """Opens the run memories: files with SQLite, else rows."""
    if not settings.is_sqlite:
        return SqlRunMemories
    files = FileRunMemories(settings.home / RUN_MEMORIES)
    return lambda _: files


def open_skill_bundles(settings: Settings) -> OpenSkillBundles:
    """Opens the skill bundles: files with SQLite, else rows with a cache."""
    if not settings.is_sqlite:
        cache = BundleCache(settings.home / SKILLS_CACHE)
        return lambda unit: SqlSkillBundles(unit.connection, cache)
    return lambda unit: FileSkillBundles(settings.home / SKILLS, unit)
