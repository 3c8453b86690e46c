"""Connections to PostgreSQL: how many, their limits, a pooler in between, and their end."""

from contextlib import ExitStack

import psycopg
import pytest
import sqlalchemy as sa

from tests.support.postgres import MakeDatabase
from tests.support.transaction_pooler import transaction_pooler
from understudy.settings import DatabaseConfig
from understudy.storage.engine import open_engine
from understudy.storage.postgres import START_LOCK, hold_lock, try_lock

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


def test_a_pool_opens_as_many_connections_as_its_settings_say(make_database: MakeDatabase) -> None:
    engine = open_engine(make_database(), DatabaseConfig(pool_size=5, max_overflow=2))
    with ExitStack() as held:
        for _ in range(7):
            held.enter_context(engine.connect())
        assert isinstance(engine.pool, sa.QueuePool)
        assert (engine.pool.size(), engine.pool.overflow()) == (5, 2)
    engine.dispose()


@pytest.mark.parametrize("is_pooled", [False, True])
def test_a_statement_that_takes_longer_than_the_setting_is_ended(
    make_database: MakeDatabase, *, is_pooled: bool
) -> None:
    url = make_database()
    with ExitStack() as stack:
        limits = DatabaseConfig(statement_timeout_ms=50, direct_url=url if is_pooled else None)
        engine = open_engine(
            stack.enter_context(transaction_pooler(url)) if is_pooled else url, limits
        )
        stack.callback(engine.dispose)
        with engine.connect() as connection, pytest.raises(sa.exc.OperationalError) as ended:
            connection.execute(sa.text("SELECT pg_sleep(60)"))
    assert isinstance(ended.value.orig, psycopg.errors.QueryCanceled)


def test_behind_a_pooler_a_transaction_that_idles_is_ended_too(make_database: MakeDatabase) -> None:
    url = make_database()
    with transaction_pooler(url) as pooled:
        engine = open_engine(pooled, DatabaseConfig(direct_url=url))
        with engine.connect() as connection:
            limit = connection.execute(sa.text("SHOW idle_in_transaction_session_timeout"))
            assert limit.scalar_one() == "30s"
        engine.dispose()


def test_behind_a_pooler_a_statement_may_be_executed_on_any_connection(
    make_database: MakeDatabase,
) -> None:
    url = make_database()
    with transaction_pooler(url) as pooled:
        engine = open_engine(pooled, DatabaseConfig(direct_url=url))
        backends = set()
        with engine.connect() as other:
            other.execute(sa.text("SELECT 1"))
            other.rollback()
            # The driver would prepare it at the fifth time.
            for number in range(20):
                with engine.connect() as connection:
                    answer = sa.text("SELECT CAST(:number AS integer), pg_backend_pid()")
                    row = connection.execute(answer, {"number": number}).one()
                    assert row[0] == number
                    backends.add(row[1])
        assert len(backends) > 1
        engine.dispose()


def test_behind_a_pooler_a_lock_of_all_daemons_has_one_holder(make_database: MakeDatabase) -> None:
    url = make_database()
    with transaction_pooler(url) as pooled:
        one, other = (open_engine(pooled, DatabaseConfig(direct_url=url)) for _ in range(2))
        with hold_lock(one, START_LOCK) as connection:
            # Whoever else works meanwhile, the lock stays with its transaction.
            with one.connect() as elsewhere:
                elsewhere.execute(sa.text("SELECT 1"))
            with try_lock(other, START_LOCK) as is_held:
                assert not is_held
            assert connection.execute(sa.text("SELECT 1")).scalar_one() == 1
        with try_lock(other, START_LOCK) as is_held:
            assert is_held
        one.dispose()
        other.dispose()
