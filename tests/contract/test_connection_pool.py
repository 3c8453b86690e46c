"""What becomes of connections that are in use when the database is closed."""

import psycopg
import pytest
import sqlalchemy as sa

from tests.support.postgres import MakeDatabase
from understudy.storage.engine import open_engine

pytestmark = pytest.mark.postgres


def driver_of(connection: sa.Connection) -> psycopg.Connection:
    driver = connection.connection.driver_connection
    assert isinstance(driver, psycopg.Connection)
    return driver


def test_a_connection_that_is_given_back_after_the_end_is_closed(
    make_database: MakeDatabase,
) -> None:
    engine = open_engine(make_database())
    with engine.connect() as late:
        driver = driver_of(late)
        engine.dispose()
        assert late.execute(sa.text("SELECT 1")).scalar_one() == 1

    assert driver.closed


def test_a_connection_that_is_opened_after_the_end_is_closed(make_database: MakeDatabase) -> None:
    engine = open_engine(make_database())
    engine.dispose()

    for _ in range(40):  # more than the pool has room for
        with engine.connect() as late:
            driver = driver_of(late)
            assert late.execute(sa.text("SELECT 1")).scalar_one() == 1
        assert driver.closed


def test_connections_are_kept_for_the_next_one_until_then(make_database: MakeDatabase) -> None:
    engine = open_engine(make_database())
    with engine.connect() as first:
        driver = driver_of(first)

    with engine.connect() as second:
        assert driver_of(second) is driver

    engine.dispose()
    assert driver.closed


def test_connections_that_the_server_has_ended_are_not_lent(make_database: MakeDatabase) -> None:
    engine = open_engine(make_database())
    with engine.connect() as first, engine.connect() as second:
        drivers = [driver_of(first), driver_of(second)]
        number = drivers[1].info.backend_pid
        ended = sa.text("SELECT pg_terminate_backend(:number, 5000)")
        assert first.execute(ended, {"number": number}).scalar_one()
    with engine.connect() as one, engine.connect() as other:
        lent = [driver_of(one), driver_of(other)]
        assert [it.execute(sa.text("SELECT 1")).scalar_one() for it in (one, other)] == [1, 1]

    assert drivers[1] not in lent
    engine.dispose()
