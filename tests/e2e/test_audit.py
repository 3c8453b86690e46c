"""The audit over kills and stops: every entry is sealed once, and nothing is lost."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from tests.contract.test_digest_chains import add_entries
from tests.support.daemon import DaemonProcess, wait_for
from understudy.core.bell import Bell
from understudy.storage.engine import open_engine
from understudy.storage.schema import audit
from understudy.storage.unit import Units

pytestmark = pytest.mark.e2e


@contextmanager
def units_on(url: str) -> Iterator[Units]:
    engine = open_engine(url)
    yield Units(engine, enqueue=lambda *_: None, bell=Bell())
    engine.dispose()


def stored(url: str) -> list[sa.Row[Any]]:
    """The audit entries as they are stored, in the order of their numbers."""
    with units_on(url) as units, units.read() as unit:
        return list(unit.connection.execute(sa.select(audit).order_by(audit.c.number)))


def all_sealed(url: str) -> list[sa.Row[Any]] | None:
    rows = stored(url)
    return rows if all(row.link for row in rows) else None


def test_what_a_killed_daemon_left_is_sealed_once_after_the_restart(
    tmp_path: Path, database_url: str
) -> None:
    names = [f"p{number}" for number in range(12)]
    with DaemonProcess(tmp_path / "home", database_url=database_url) as daemon:
        for name in names:
            daemon.post("/v1/projects", {"project_id": name, "display_name": name})
            if name == "p5":
                daemon.kill()
                with units_on(database_url) as units:
                    add_entries(units, range(3))
                assert all_sealed(database_url) is None
                daemon.start()
        daemon.kill()
        daemon.start()
        # Before anybody asks for a verification, which seals as well.
        rows = wait_for(lambda: all_sealed(database_url), 30, what="all entries to be sealed")
        found = daemon.get("/v1/audit/verify")

    created = [row.resource_id for row in rows if row.action == "projects.create"]
    assert created == names
    assert [row.resource_id for row in rows if row.actor == "alice"] == ["s0", "s1", "s2"]
    assert (found["ok"], found["audit"]["checked"]) == (True, len(rows))


def test_a_daemon_that_stops_leaves_nothing_unsealed(tmp_path: Path, database_url: str) -> None:
    with DaemonProcess(tmp_path / "home", database_url=database_url) as daemon:
        for number in range(5):
            daemon.post("/v1/projects", {"project_id": f"p{number}", "display_name": "P"})
        assert daemon.stop() == 0

    assert all_sealed(database_url) is not None
