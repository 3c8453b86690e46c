"""A migrated database of each kind, and units of work on it."""

import shutil
import sqlite3
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import sqlalchemy as sa

from tests.support import postgres, prepared_home
from tests.support.approval_harness import ApprovalRuns, Approver
from tests.support.daemon_in_process import start_once
from tests.support.factories import make_agent, make_session
from tests.support.postgres import MakeDatabase
from tests.support.run_harness import Probe, RunHarness, make_settings
from tests.support.sidechain_runs import SidechainRuns, make_sidechain_runs
from understudy.core.bell import Bell
from understudy.daemon.resources import open_run_memories, open_skill_bundles
from understudy.runs.ask_user import AskUser
from understudy.runs.model import Run
from understudy.settings import Settings
from understudy.storage.engine import open_engine
from understudy.storage.migrate import migrate
from understudy.storage.schema import metadata
from understudy.storage.unit import Units
from understudy.testing.fake_model import FakeModel
from understudy.tools.base import Approval, Effect

BOTH = ["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)]


@dataclass
class UnitsOnDatabase:
    """Units of work with everything around them that a test may look at."""

    units: Units
    engine: sa.Engine
    url: str
    bell: Bell
    # Runs handed to the engine: (run_id, session_id).
    queued: list[tuple[str, str]] = field(default_factory=list)


def migrated(url: str) -> str:
    engine = open_engine(url)
    migrate(engine)
    engine.dispose()
    return url


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("template") / "understudy.db"
    migrated(f"sqlite:///{path}")
    return path


class SqliteEngine:
    """An engine that is pointed at another file for each test, so that all of them share what
    SQLAlchemy has compiled."""

    def __init__(self, template: Path) -> None:
        self.engine = open_engine(f"sqlite:///{template}")
        self._path = template
        sa.event.listen(self.engine, "do_connect", self._redirect)
        sa.event.listen(self.engine, "connect", write_without_waiting)

    def _redirect(self, _dialect: object, _record: object, arguments: list[str], _: object) -> None:
        arguments[0] = str(self._path)

    def open(self, path: Path) -> sa.Engine:
        """The engine, on this file from now on."""
        self.engine.dispose()
        self._path = path
        return self.engine


def write_without_waiting(connection: sqlite3.Connection, _record: object) -> None:
    """Leave it to the system when it writes to the disk; what a killed process wrote stays."""
    connection.execute("PRAGMA synchronous=OFF")


@pytest.fixture(scope="session")
def sqlite_engine(sqlite_template: Path) -> Iterator[SqliteEngine]:
    """The engine of all tests of a worker on SQLite."""
    shared = SqliteEngine(sqlite_template)
    yield shared
    shared.engine.dispose()


@pytest.fixture(scope="session")
def postgres_shared(postgres_url: str) -> Iterator[str]:
    """One database for all tests of a worker that leave nothing but rows behind."""
    with postgres.databases(postgres_url) as make:
        yield migrated(make())


@pytest.fixture(scope="session")
def postgres_engine(postgres_shared: str) -> Iterator[sa.Engine]:
    """Its engine, whose connections stay open: to a new one all tables are new."""
    engine = open_engine(postgres_shared)
    yield engine
    engine.dispose()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test on SQLite and on PostgreSQL, unless its rule is above the stores: see the marks
    `one_database` and `every_database`."""
    given = [mark.args[0] for mark in metafunc.definition.iter_markers("parametrize")]
    if "migrated_url" not in metafunc.fixturenames or "migrated_url" in given:
        return
    marked = metafunc.definition.get_closest_marker
    on_both = marked("every_database") or not marked("one_database")
    metafunc.parametrize("migrated_url", BOTH if on_both else ["sqlite"], indirect=True)


@pytest.fixture
def migrated_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A database with our tables and nothing in them, once on SQLite and once on PostgreSQL."""
    if request.param == "sqlite":
        path = tmp_path / "understudy.db"
        shutil.copy(request.getfixturevalue("sqlite_template"), path)
        return f"sqlite:///{path}"
    empty(request.getfixturevalue("postgres_engine"))
    url: str = request.getfixturevalue("postgres_shared")
    return url


@pytest.fixture(params=BOTH)
def prepared_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A database on which a daemon has started once, on SQLite in the home of its skills."""
    if request.param == "sqlite":
        prepared_home.fill(tmp_path, start_once)
        return f"sqlite:///{tmp_path / prepared_home.DATABASE}"
    make: MakeDatabase = request.getfixturevalue("make_database")
    return make(request.getfixturevalue("prepared_database"))


@pytest.fixture
def migrated_engine(migrated_url: str, request: pytest.FixtureRequest) -> Iterator[sa.Engine]:
    """The engine of that database."""
    if migrated_url.startswith("postgresql"):
        yield request.getfixturevalue("postgres_engine")
        return
    shared: SqliteEngine = request.getfixturevalue("sqlite_engine")
    engine = shared.open(Path(migrated_url.removeprefix("sqlite:///")))
    yield engine
    engine.dispose()


DELETE_ALL = "; ".join(f'DELETE FROM "{table.name}"' for table in reversed(metadata.sorted_tables))


def empty(engine: sa.Engine) -> None:
    """Leave no row behind; all tables at once, because this comes before every test."""
    with engine.begin() as connection:
        connection.exec_driver_sql(DELETE_ALL)


@pytest.fixture
def empty_database(
    migrated_engine: sa.Engine, migrated_url: str, tmp_path: Path
) -> UnitsOnDatabase:
    """Units of work on an empty database; on SQLite run memories and skills are files, as in a
    daemon."""
    bell = Bell()
    settings = make_settings(tmp_path, database_url=migrated_url)
    queued: list[tuple[str, str]] = []

    def enqueue(run: Run) -> None:
        queued.append((run.run_id, run.session_id))

    units = Units(
        migrated_engine,
        enqueue=enqueue,
        bell=bell,
        run_memories=open_run_memories(settings),
        skill_bundles=open_skill_bundles(settings),
    )
    return UnitsOnDatabase(
        units=units, engine=migrated_engine, url=migrated_url, bell=bell, queued=queued
    )


@pytest.fixture
def database(empty_database: UnitsOnDatabase) -> UnitsOnDatabase:
    """Units of work on a database with the built-in agent and the sessions s1 and s2."""
    with empty_database.units.write() as unit:
        unit.agents.add(make_agent())
        unit.sessions.add(make_session("s1"))
        unit.sessions.add(make_session("s2"))
    return empty_database


@pytest.fixture
def units(database: UnitsOnDatabase) -> Units:
    """Units of work on a database with the built-in agent and the sessions s1 and s2."""
    return database.units


@pytest.fixture
def fake() -> Iterator[FakeModel]:
    """A model that says what the test tells it."""
    with FakeModel() as fake:
        fake.script_captures = True
        yield fake


@pytest.fixture
def settings(tmp_path: Path, fake: FakeModel) -> Settings:
    """Settings with the routes a and b to the fake model."""
    return make_settings(tmp_path, fake.url, "a", "b")


@pytest.fixture
def probe() -> Probe:
    """A tool that counts and can be held."""
    return Probe()


@pytest.fixture
async def sidechain_runs(
    database: UnitsOnDatabase, settings: Settings
) -> AsyncIterator[SidechainRuns]:
    """What executes runs and sidechains, with a queue that the test works off."""
    sidechain_runs = make_sidechain_runs(database.units, database.queued, settings)
    yield sidechain_runs
    await sidechain_runs.harness.providers.close()


@pytest.fixture
async def harness(
    database: UnitsOnDatabase, settings: Settings, probe: Probe
) -> AsyncIterator[RunHarness]:
    """What executes runs, without the queue."""
    harness = RunHarness(database.units, settings, tools=(probe, Probe("other")))
    yield harness
    await harness.providers.close()


@pytest.fixture
def guarded(harness: RunHarness, probe: Probe) -> ApprovalRuns:
    probe.approval = Approval.ALWAYS
    probe.effect = Effect.ONCE
    asking = AskUser(harness.units, harness.clock)
    again = ApprovalRuns(
        harness.units, harness.settings, tools=(probe, asking), clock=harness.clock
    )
    again.providers = harness.providers
    again.executor = again._executor()
    return again


@pytest.fixture
def approver(guarded: ApprovalRuns) -> Approver:
    return Approver(guarded)
