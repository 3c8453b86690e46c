"""The console in process over an API whose daemon works on nothing, and in a browser."""

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page
from starlette.testclient import TestClient

from tests.api.conftest import ADMIN, fresh_database, idle_daemon
from tests.support.browser import chromium, tab_of
from tests.support.daemon import DaemonProcess
from understudy.api.app import create_app
from understudy.console.app import mount
from understudy.daemon.wiring import Daemon
from understudy.testing.fake_model import FakeModel

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


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium for a module: the event loop of Playwright must not outlive its tests."""
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def fake() -> Iterator[FakeModel]:
    """The model behind the daemon of a module."""
    with FakeModel() as model:
        yield model
        model.release()


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory, fake: FakeModel) -> Iterator[DaemonProcess]:
    """A real daemon for a module, whose default route asks the fake model."""
    route = f'provider = "openai"\nmodel = "model-a"\nbase_url = "{fake.url}"\n'
    config = f'default_route = "a"\n[routes.a]\n{route}'
    with DaemonProcess(tmp_path_factory.mktemp("live") / "home", config=config) as daemon:
        yield daemon


@pytest.fixture
def tab(browser: Browser, live: DaemonProcess) -> Iterator[Page]:
    """A tab at the daemon of the module; what its console reports as an error fails the test."""
    with tab_of(browser, live.url) as page:
        yield page


UNDO = re.compile(r'<form class="notice" method="post" action="([^"]+)".*?</form>', re.DOTALL)
HIDDEN = re.compile(r'<input type="hidden" name="([^"]+)" value="([^"]*)"')


def undo(console: TestClient, page: str) -> str:
    """Press the undo button on a page; answers the page that it leads to."""
    form = UNDO.search(page)
    assert form is not None, "the page offers no undo"
    values = {name: unescape(value) for name, value in HIDDEN.findall(form[0])}
    done = console.post(form[1], data=values, headers=OURS)
    assert done.status_code == 303, done.text
    return console.get(done.headers["location"]).text
