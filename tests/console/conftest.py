"""The console in process, over an API whose daemon works on nothing."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from tests.api.conftest import ADMIN, fresh_database, idle_daemon
from understudy.api.app import create_app
from understudy.console.app import mount
from understudy.daemon.wiring import Daemon

__all__ = ["fresh_database"]
URL = "http://127.0.0.1:4600"
# What a browser says with a form of our own pages.
OURS = {"Sec-Fetch-Site": "same-origin", "Origin": URL}


def client_of(daemon: Daemon) -> TestClient:
    """A browser that follows no redirect."""
    app = create_app(daemon.services)
    mount(app)
    return TestClient(app, base_url=URL, follow_redirects=False)


@pytest.fixture
def console(tmp_path: Path, fresh_database: Path) -> Iterator[TestClient]:
    """A browser on the machine of a daemon without tokens."""
    daemon = idle_daemon(tmp_path / "home", fresh_database)
    with client_of(daemon) as client:
        yield client
    daemon.resources.database.dispose()


@pytest.fixture
def guarded(tmp_path: Path, fresh_database: Path) -> Iterator[TestClient]:
    """A browser at a daemon that wants a token."""
    daemon = idle_daemon(tmp_path / "guarded", fresh_database, UNDERSTUDY_ADMIN_TOKEN=ADMIN)
    with client_of(daemon) as client:
        yield client
    daemon.resources.database.dispose()
