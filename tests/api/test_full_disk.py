"""A full disk: readiness says so, and takes it back when there is room again."""

import errno
import sqlite3

import psycopg
import pytest
import sqlalchemy as sa
from sqlalchemy import exc as sql
from starlette.testclient import TestClient

from understudy.core.errors import coded_error
from understudy.daemon.wiring import Daemon
from understudy.storage.unit import is_disk_full

# SQLite takes it for the pages that there are.
FULL, ROOM = 1, 1_000_000


def limit_pages(engine: sa.Engine, pages: int) -> None:
    """Limit the file; the pragma holds for one connection."""

    @sa.event.listens_for(engine, "checkout")
    def limit(connection: sqlite3.Connection, *_: object) -> None:
        connection.execute(f"PRAGMA max_page_count={pages}")


def test_readiness_says_that_the_disk_is_full_until_there_is_room(
    daemon: Daemon, api: TestClient
) -> None:
    units = daemon.resources.units
    assert api.get("/readyz").status_code == 200

    limit_pages(daemon.resources.database, FULL)
    long = {"display_name": "Board", "description": "x" * 60_000}
    assert [api.post("/v1/projects", json=long).status_code for _ in range(3)][-1] == 503
    refused = api.get("/readyz")

    assert (refused.status_code, refused.json()["code"]) == (503, "disk_full")
    assert api.get("/healthz").status_code == 200
    assert api.get("/v1/projects").status_code == 200

    limit_pages(daemon.resources.database, ROOM)

    assert api.get("/readyz").status_code == 200
    assert not units.is_full
    assert api.post("/v1/projects", json=long).status_code == 201


def _caused_by(cause: Exception) -> Exception:
    try:
        raise coded_error("storage/database_unavailable") from cause
    except Exception as problem:  # noqa: BLE001 - it is what is looked at
        return problem


def _sqlite(code: int) -> sqlite3.Error:
    error = sqlite3.OperationalError("no")
    error.sqlite_errorcode = code
    return error


@pytest.mark.parametrize(
    ("cause", "is_full"),
    [
        (sql.OperationalError("", {}, psycopg.errors.DiskFull()), True),
        (sql.OperationalError("", {}, psycopg.errors.AdminShutdown()), False),
        (sql.OperationalError("", {}, _sqlite(sqlite3.SQLITE_FULL)), True),
        (sql.OperationalError("", {}, _sqlite(sqlite3.SQLITE_BUSY)), False),
        (OSError(errno.ENOSPC, "no room"), True),
        (OSError(errno.EACCES, "not yours"), False),
        (ValueError("a bug"), False),
    ],
    ids=repr,
)
def test_a_full_disk_is_told_from_other_failures(cause: Exception, is_full: bool) -> None:
    assert is_disk_full(_caused_by(cause)) is is_full
