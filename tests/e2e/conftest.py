"""A daemon over HTTP with a fake model behind three routes, on each database."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from tests.support import postgres
from tests.support.daemon import DaemonProcess
from tests.support.learning_daemon import LearningDaemon
from tests.support.postgres import MakeDatabase
from tests.support.skill_daemon import ADMIN_TOKEN, SkillDaemon, SkillUsers
from understudy.testing.fake_model import FakeModel


@dataclass(frozen=True)
class DaemonWithModel:
    """A daemon and the model it talks to."""

    daemon: DaemonProcess
    model: FakeModel


def routes_to(model: FakeModel) -> str:
    """A config with routes a, b and c, which ask for models model-a, model-b and model-c."""
    routes = [
        f'[routes.{name}]\nprovider = "openai"\nmodel = "model-{name}"\nbase_url = "{model.url}"\n'
        for name in "abc"
    ]
    return 'default_route = "a"\n' + "\n".join(routes)


@pytest.fixture
def model() -> Iterator[FakeModel]:
    """A fake model of the test's own."""
    with FakeModel() as fake:
        yield fake
        fake.release()


@pytest.fixture
def make_database(make_database: MakeDatabase, prepared_database: str) -> MakeDatabase:
    """Makes copies of that database, which last as long as the test."""
    return partial(make_database, prepared_database)


@pytest.fixture(scope="module")
def make_module_database(
    make_module_database: MakeDatabase, prepared_database: str
) -> MakeDatabase:
    """Makes copies of that database, which last as long as the module."""
    return partial(make_module_database, prepared_database)


@pytest.fixture
def live(tmp_path: Path, model: FakeModel, database_url: str) -> Iterator[DaemonWithModel]:
    """A fresh daemon, once on SQLite and once on PostgreSQL."""
    url = None if database_url.startswith("sqlite") else database_url
    with DaemonProcess(tmp_path / "home", database_url=url, config=routes_to(model)) as daemon:
        yield DaemonWithModel(daemon, model)


@pytest.fixture(
    scope="module", params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)]
)
def shared_live(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[DaemonWithModel]:
    """A daemon for a whole module, for tests that neither restart it nor change its settings."""
    url = None
    if request.param == "postgresql":
        make: MakeDatabase = request.getfixturevalue("make_module_database")
        url = make()
    home = tmp_path_factory.mktemp("shared") / "home"
    with (
        FakeModel() as fake,
        DaemonProcess(home, database_url=url, config=routes_to(fake)) as daemon,
    ):
        yield DaemonWithModel(daemon, fake)
        fake.release()


@pytest.fixture(autouse=True)
def only_its_own_answers(request: pytest.FixtureRequest) -> Iterator[None]:
    """What a test that failed left for the model to say is not said to the next one."""
    yield
    for name in ("shared_live", "waiting_live"):
        if name in request.fixturenames:
            request.getfixturevalue(name).model.forget()


def routes_with_small_window(model: FakeModel) -> str:
    """The same routes, and one to the model of route a as if it had a small window."""
    return routes_to(model) + (
        '[routes.small]\nprovider = "openai"\nmodel = "model-a"\n'
        f'base_url = "{model.url}"\ncontext_window = 10000\n'
    )


@pytest.fixture(scope="session")
def shared_learning_daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LearningDaemon]:
    """A daemon for all tests of learning that neither restart it nor look at it alone."""
    home = tmp_path_factory.mktemp("learning_daemon") / "home"
    with FakeModel() as fake, DaemonProcess(home, config=routes_with_small_window(fake)) as daemon:
        learning_daemon = LearningDaemon(daemon, fake)
        yield learning_daemon
        fake.release()
        learning_daemon.close()


@pytest.fixture
def learning_daemon(shared_learning_daemon: LearningDaemon) -> LearningDaemon:
    """The daemon that learns, with nothing learned and nothing waiting."""
    shared_learning_daemon.start_afresh()
    return shared_learning_daemon


@pytest.fixture
def fresh_learning_daemon(tmp_path: Path, model: FakeModel) -> Iterator[LearningDaemon]:
    """A daemon that learns, and that a test may stop, kill and tamper with."""
    with DaemonProcess(tmp_path / "home", config=routes_to(model)) as daemon:
        learning_daemon = LearningDaemon(daemon, model)
        yield learning_daemon
        learning_daemon.close()


@contextmanager
def skill_daemon_at(home: Path, database_url: str | None = None) -> Iterator[SkillDaemon]:
    """A daemon with tokens, whose programs and temporary files a test can see to."""
    folders = {"programs": home.parent / "programs", "temporary": home.parent / "temporary"}
    for folder in folders.values():
        folder.mkdir()
    env = {
        "UNDERSTUDY_ADMIN_TOKEN": ADMIN_TOKEN,
        "PATH": f"{folders['programs']}{os.pathsep}{os.environ['PATH']}",
        "TMPDIR": str(folders["temporary"]),
    }
    with (
        FakeModel() as fake,
        DaemonProcess(home, database_url, env, routes_to(fake)).start(60) as daemon,
        daemon.client(timeout=60) as client,
    ):
        yield SkillDaemon(daemon, fake, client, database_url)
        fake.release()


@pytest.fixture(scope="session")
def file_skill_daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SkillDaemon]:
    """A daemon on SQLite that keeps skills as files, for all tests of skills."""
    with skill_daemon_at(tmp_path_factory.mktemp("skills") / "home") as skill_daemon:
        yield skill_daemon


@pytest.fixture(scope="session")
def database_skill_daemon(
    tmp_path_factory: pytest.TempPathFactory, postgres_url: str, prepared_database: str
) -> Iterator[SkillDaemon]:
    """A daemon on PostgreSQL that keeps skills there, for all tests of skills."""
    home = tmp_path_factory.mktemp("skills") / "home"
    with (
        postgres.databases(postgres_url) as make,
        skill_daemon_at(home, make(prepared_database)) as skill_daemon,
    ):
        yield skill_daemon


@pytest.fixture(params=["file", pytest.param("database", marks=pytest.mark.postgres)])
def skill_daemon(request: pytest.FixtureRequest) -> SkillDaemon:
    """Both of them in turn; tests share them, so each has its own people, agents and slugs."""
    skill_daemon: SkillDaemon = request.getfixturevalue(f"{request.param}_skill_daemon")
    return skill_daemon


@pytest.fixture
def users(skill_daemon: SkillDaemon) -> SkillUsers:
    """Who is met in this test, on each database."""
    return SkillUsers(skill_daemon)


@pytest.fixture
def file_users(file_skill_daemon: SkillDaemon) -> SkillUsers:
    """The same where the database does not matter, or the files do."""
    return SkillUsers(file_skill_daemon)
