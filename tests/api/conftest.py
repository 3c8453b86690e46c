"""The API in process: alone for most tests, with everything behind it for runs and streams."""

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog
from starlette.testclient import TestClient

from tests.api.live import Live, live_daemon, settings_at
from tests.api.skill_users import SkillUsers, desk_over
from understudy.api.app import create_app
from understudy.daemon.wiring import Daemon

ADMIN = "admin-secret"


@pytest.fixture(scope="session", autouse=True)
def logs_apart() -> None:
    """A daemon in process logs to the error stream, as a real one does: what a command prints at
    the same time is its answer alone."""
    structlog.configure(logger_factory=lambda *_: structlog.PrintLogger(sys.stderr))


@pytest.fixture(scope="session")
def fresh_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A migrated database to start from, made once."""
    daemon = Daemon(settings_at(tmp_path_factory.mktemp("fresh")))
    daemon.migrate()
    daemon.services.agents.service.ensure_built_in()
    daemon.resources.database.dispose()
    return daemon.settings.home / "understudy.db"


def idle_daemon(home: Path, database: Path, **environment: str) -> Daemon:
    """A daemon whose engine was not started: it answers, but works on nothing."""
    settings = settings_at(home, **environment)
    shutil.copy(database, settings.home / "understudy.db")
    daemon = Daemon(settings)
    daemon.resources.state = "ready"
    return daemon


@pytest.fixture
def daemon(tmp_path: Path, fresh_database: Path) -> Iterator[Daemon]:
    """A daemon that works on nothing."""
    daemon = idle_daemon(tmp_path / "home", fresh_database)
    yield daemon
    daemon.resources.database.dispose()


@pytest.fixture
def api(daemon: Daemon) -> Iterator[TestClient]:
    """A client of its API, on the machine itself and without a token."""
    with TestClient(create_app(daemon.services), base_url="http://127.0.0.1:4600") as client:
        yield client


@pytest.fixture
def guarded(tmp_path: Path, fresh_database: Path) -> Iterator[TestClient]:
    """A client of a daemon that wants tokens; it sends none by itself."""
    daemon = idle_daemon(tmp_path / "guarded", fresh_database, UNDERSTUDY_ADMIN_TOKEN=ADMIN)
    with TestClient(create_app(daemon.services), base_url="http://127.0.0.1:4600") as client:
        yield client
    daemon.resources.database.dispose()


@pytest.fixture(scope="module")
def furnished(
    tmp_path_factory: pytest.TempPathFactory, fresh_database: Path
) -> Iterator[SkillUsers]:
    """People with tokens, at a daemon that the tests of a module share."""
    home = tmp_path_factory.mktemp("users") / "home"
    daemon = idle_daemon(home, fresh_database, UNDERSTUDY_ADMIN_TOKEN=ADMIN)
    with TestClient(create_app(daemon.services), base_url="http://127.0.0.1:4600") as client:
        yield desk_over(client, daemon, ADMIN)
    daemon.resources.database.dispose()


@pytest.fixture
def users(furnished: SkillUsers) -> Iterator[SkillUsers]:
    """The same, with no skill on it before and after."""
    yield furnished
    furnished.clear()


# Not for the whole session: its threads use `random`, which hypothesis tests cannot bear.
@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """The whole daemon with a fake model, shared by the tests of a module."""
    with live_daemon(tmp_path_factory.mktemp("live") / "home") as live:
        yield live
