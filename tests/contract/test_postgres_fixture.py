"""The PostgreSQL that tests run on is real, empty, private to a test, and gone afterwards."""

import os
import subprocess
import sys
import time
from pathlib import Path

import psycopg
import pytest

from tests.support.postgres import EXTERNAL_URL, MakeDatabase, databases

ROOT = Path(__file__).parents[2]


def query(url: str, statement: str) -> list[tuple]:
    with psycopg.connect(url, autocommit=True) as connection:
        cursor = connection.execute(statement.encode())
        return cursor.fetchall() if cursor.description else []


@pytest.mark.postgres
def test_the_server_speaks_utf8_in_the_c_locale(make_database: MakeDatabase) -> None:
    [(encoding, collation)] = query(
        make_database(),
        "SELECT pg_encoding_to_char(encoding), datcollate FROM pg_database"
        " WHERE datname = current_database()",
    )

    assert (encoding, collation) == ("UTF8", "C")


@pytest.mark.postgres
def test_each_database_is_its_own(make_database: MakeDatabase) -> None:
    one, other = make_database(), make_database()
    query(one, "CREATE TABLE notes (text text)")

    tables = "SELECT count(*) FROM pg_tables WHERE tablename = 'notes'"

    assert query(one, tables) == [(1,)]
    assert query(other, tables) == [(0,)]


@pytest.mark.postgres
def test_a_database_can_be_copied(make_database: MakeDatabase) -> None:
    original = make_database()
    query(original, "CREATE TABLE notes AS SELECT 'kept' AS text")

    assert query(make_database(template=original), "SELECT text FROM notes") == [("kept",)]


@pytest.mark.postgres
def test_databases_are_dropped_even_when_somebody_is_connected(postgres_url: str) -> None:
    with databases(postgres_url) as make:
        url = make()
        connection = psycopg.connect(url)

    connection.close()
    name = url.rpartition("/")[2]
    assert query(postgres_url, f"SELECT 1 FROM pg_database WHERE datname = '{name}'") == []


def test_an_empty_database_on_each_kind(database_url: str) -> None:
    assert database_url.startswith(("sqlite:///", "postgresql://"))


@pytest.mark.slow
@pytest.mark.postgres
@pytest.mark.skipif(EXTERNAL_URL in os.environ, reason="the server is not ours to stop")
def test_a_killed_test_run_leaves_no_server_behind(tmp_path: Path) -> None:
    script = tmp_path / "killed.py"
    script.write_text(
        "import os, signal\n"
        "from tests.support import postgres\n"
        "postgres.begin_test_run()\n"
        "postgres.server_url()\n"
        "print(os.environ[postgres.RUN_DIRECTORY], flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run(
        [sys.executable, script],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        check=False,
    )
    directory = Path(done.stdout.decode().strip())

    deadline = time.monotonic() + 15
    while directory.exists() and time.monotonic() < deadline:
        time.sleep(0.05)

    assert directory.name.startswith("understudy-tests-")
    assert not directory.exists()
