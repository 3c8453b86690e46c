"""What every test stands on: UTC, no keys, no network, and databases on demand."""

import gc
import os
import time
from collections.abc import Generator, Iterator
from pathlib import Path

import hypothesis
import pytest
import structlog

from tests.support import forked_process, postgres
from tests.support.daemon import DaemonProcess
from tests.support.environment import without_settings
from tests.support.network import block_network
from tests.support.postgres import MakeDatabase

hypothesis.settings.register_profile("understudy", deadline=None, print_blob=True)
hypothesis.settings.load_profile("understudy")


def pytest_configure(config: pytest.Config) -> None:
    """Prepare the process, before any test module is imported."""
    clean = without_settings(os.environ)
    for name in set(os.environ) - set(clean):
        del os.environ[name]
    os.environ["TZ"] = "UTC"
    time.tzset()
    block_network()
    log_plainly()
    if not _is_worker(config):
        postgres.begin_test_run()


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Import and collect without looking for garbage: all of it stays."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def log_plainly() -> None:
    """Log without what structlog does for eyes at a terminal, which takes seconds for an exception."""
    renderer = structlog.dev.ConsoleRenderer(
        colors=False, exception_formatter=structlog.dev.plain_traceback
    )
    structlog.configure(processors=[structlog.processors.add_log_level, renderer])


def pytest_unconfigure(config: pytest.Config) -> None:
    """End what this process started, and what the workers shared."""
    forked_process.end_server()
    if not _is_worker(config):
        postgres.end_test_run()


def _is_worker(config: pytest.Config) -> bool:
    return hasattr(config, "workerinput")


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """Async tests run on asyncio."""
    return "asyncio"


@pytest.fixture(scope="session")
def postgres_url() -> str:
    """A PostgreSQL account that may create databases; shared by the whole test run."""
    return postgres.server_url()


@pytest.fixture
def make_database(postgres_url: str) -> Iterator[MakeDatabase]:
    """Makes PostgreSQL databases that last as long as the test."""
    with postgres.databases(postgres_url) as make:
        yield make


@pytest.fixture(scope="module")
def make_module_database(postgres_url: str) -> Iterator[MakeDatabase]:
    """Makes PostgreSQL databases that last as long as the module, for templates and shared data."""
    with postgres.databases(postgres_url) as make:
        yield make


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty database, once on SQLite and once on PostgreSQL."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'understudy.db'}"
    make: MakeDatabase = request.getfixturevalue("make_database")
    return make()


@pytest.fixture(scope="session")
def prepared_database(postgres_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A PostgreSQL database on which a daemon has started once, to be copied."""
    home = tmp_path_factory.mktemp("prepared") / "home"
    with postgres.databases(postgres_url) as make:
        url = make()
        with DaemonProcess(home, database_url=url) as daemon:
            daemon.stop()
        yield url
