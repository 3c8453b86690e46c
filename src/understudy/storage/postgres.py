"""PostgreSQL specifics: many writers, advisory locks, notifications.

Locks are taken in one order, against deadlocks: the execution of a run; review job, candidate, scope of learnings,
learnings; run, session; and the run memories last. Skills come before sessions:
`SKILLS_LOCK` shared, the slug, then its rows.
"""

import select
import threading
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import lru_cache, partial
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

import sqlalchemy as sa
from sqlalchemy.pool import ConnectionPoolEntry

from understudy.settings import DatabaseConfig
from understudy.storage.revision_cache import RevisionCache
from understudy.storage.schema import daemons
from understudy.storage.visible_connection import VisibleConnection

if TYPE_CHECKING:
    import psycopg

TABLES_CHANNEL: Final = "understudy_tables"
# Advisory lock numbers; the first half marks them as ours.
LOCK_SPACE: Final = 0x554E4453
MIGRATION_LOCK: Final = 2
START_LOCK: Final = 3
ASSETS_LOCK: Final = 4
RUN_MEMORIES_LOCK: Final = 5
SKILLS_LOCK: Final = 6
SUGGESTIONS_LOCK: Final = 7
# Separate key spaces: one lock per scope of learnings, one per run.
SCOPE_SPACE: Final = 0x554E444C
RUN_SPACE: Final = 0x554E4452
# A process that is stopped within a transaction holds its locks for so long.
IDLE_IN_TRANSACTION_MS: Final = 30_000
# A lock of all daemons is held for as long as its holder works elsewhere.
_PATIENT: Final = {"idle_in_transaction_session_timeout": 0, "statement_timeout": 0}
# A server that is gone without a word ends its connections here after a minute.
KEEPALIVES: Final[Mapping[str, Any]] = {
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 60_000,
}


def _transaction_number(of: sa.ColumnElement[Any]) -> sa.ColumnElement[int]:
    """A number of a transaction, which has a type of its own, as a number."""
    return sa.cast(sa.cast(of, sa.Text), sa.BigInteger)


# The number of this transaction, which it takes if it has none.
OWN_TX: Final = _transaction_number(sa.func.pg_current_xact_id())
# All transactions with a lower number are over; one without a number has written nothing.
OLDEST_TX: Final = _transaction_number(sa.func.pg_snapshot_xmin(sa.func.pg_current_snapshot()))
# No transaction that is over has this number or a greater one.
NEXT_TX: Final = _transaction_number(sa.func.pg_snapshot_xmax(sa.func.pg_current_snapshot()))

# Built once: they run in the units of a run.
_NUMBERS: Final = (
    sa.bindparam("space", type_=sa.Integer),
    sa.bindparam("number", type_=sa.Integer),
)
_LOCK: Final = sa.select(sa.func.pg_advisory_xact_lock(*_NUMBERS))
_SHARE: Final = sa.select(sa.func.pg_advisory_xact_lock_shared(*_NUMBERS))
_NOTIFY: Final = sa.select(sa.func.pg_notify(TABLES_CHANNEL, RevisionCache.TABLE))


_ROOM: Final = sa.text("""
    SELECT most, most - superusers - others FROM (SELECT
        current_setting('max_connections')::int AS most,
        current_setting('superuser_reserved_connections')::int AS superusers,
        coalesce(current_setting('reserved_connections', true)::int, 0) AS others) AS limits
""")
# Locks whose key has 64 bits; ours within a transaction have two keys of 32.
_SESSION_LOCKS: Final = sa.text("""
    SELECT (classid::bigint << 32) | objid::bigint FROM pg_locks
    WHERE locktype = 'advisory' AND objsubid = 1 AND granted
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
""")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerLoad:
    """Connections of a PostgreSQL server, and the daemons that share them."""

    max_connections: int
    # Without those that are reserved for its administrators.
    room: int
    # Some may have ended; one that has not holds its lock.
    executor_ids: tuple[str, ...]
    locks: frozenset[int]


@lru_cache
def _for_update(query: sa.Select[Any]) -> sa.Select[Any]:
    """The same object for the same query, so that its plan is found."""
    return query.with_for_update()


def open_postgres(url: str, limits: DatabaseConfig) -> sa.Engine:
    """An engine on a PostgreSQL database, or on a pooler in front of it.

    A pooler lends a connection for one transaction, so nothing may outlive that: no prepared
    statement, and no setting that is not local to it.
    """
    is_pooled = limits.direct_url is not None
    engine = sa.create_engine(
        url.replace("postgresql://", "postgresql+psycopg://", 1),
        pool_size=limits.pool_size,
        # The connection used last has the statements of a run prepared.
        pool_use_lifo=True,
        max_overflow=limits.max_overflow,
        pool_timeout=60,
        hide_parameters=True,
        connect_args={
            "connect_timeout": 10,
            "application_name": "understudy",
            **KEEPALIVES,
            **({"prepare_threshold": None} if is_pooled else {}),
        },
    )
    settings = {"idle_in_transaction_session_timeout": IDLE_IN_TRANSACTION_MS}
    if limits.statement_timeout_ms:
        settings["statement_timeout"] = limits.statement_timeout_ms
    if is_pooled:
        sa.event.listen(engine, "begin", partial(_set_locally, settings))
    else:
        sa.event.listen(engine, "connect", partial(_set_for_good, settings))
    sa.event.listen(engine, "checkout", _require_silence)
    _close_once_disposed(engine)
    return engine


def _set_for_good(
    settings: Mapping[str, int], connection: "psycopg.Connection", _record: object
) -> None:
    for name, value in settings.items():
        connection.execute("SELECT set_config(%s, %s, false)", (name, str(value)))
    connection.commit()


def _set_locally(settings: Mapping[str, int], connection: sa.Connection) -> None:
    """Set this for the transaction that has begun, in one round trip."""
    each = (sa.func.set_config(name, str(value), True) for name, value in settings.items())
    connection.execute(sa.select(*each))


def _require_silence(connection: "psycopg.Connection", *_: object) -> None:
    """Have a pooled connection replaced that the server has ended.

    A server that stops says so or closes the connection; one that is alive says nothing unasked.
    """
    look = select.poll()
    if not connection.closed:
        look.register(connection.fileno(), select.POLLIN)
    if connection.closed or look.poll(0):
        raise sa.exc.DisconnectionError


def _close_once_disposed(engine: sa.Engine) -> None:
    """Close connections that are returned after the engine was disposed.

    A thread may still be at work when the daemon stops. Without this, the connection that it
    returns or opens then would stay open until garbage collection.
    """
    is_disposed = threading.Event()
    sa.event.listen(engine, "engine_disposed", lambda _: is_disposed.set())

    def returned(_: object, entry: ConnectionPoolEntry) -> None:
        if is_disposed.is_set():
            entry.invalidate()

    sa.event.listen(engine, "checkin", returned)


@contextmanager
def hold_lock(engine: sa.Engine, number: int) -> Iterator[sa.Connection]:
    """Hold an advisory lock shared by all daemons, in a transaction of its own."""
    with engine.connect() as connection:
        _set_locally(_PATIENT, connection)
        connection.execute(_LOCK, {"space": LOCK_SPACE, "number": number})
        yield connection


@contextmanager
def try_lock(engine: sa.Engine, number: int) -> Iterator[bool]:
    """Try to take such a lock without waiting; yields whether it is held."""
    with engine.connect() as connection:
        _set_locally(_PATIENT, connection)
        lock = sa.func.pg_try_advisory_xact_lock(LOCK_SPACE, number)
        yield bool(connection.execute(sa.select(lock)).scalar_one())


def server_load(engine: sa.Engine) -> ServerLoad:
    """What PostgreSQL has for daemons, and who of them may be there."""
    with engine.connect() as connection:
        most, room = connection.execute(_ROOM).one()
        return ServerLoad(
            max_connections=most,
            room=room,
            executor_ids=tuple(connection.execute(sa.select(daemons.c.executor_id)).scalars()),
            locks=frozenset(connection.execute(_SESSION_LOCKS).scalars()),
        )


def _number(name: str) -> int:
    """A lock number; names whose hashes collide share the lock."""
    return int.from_bytes(sha256(name.encode(errors="surrogatepass")).digest()[:4], signed=True)


class PostgresDialect:
    """How a unit of work begins and locks on PostgreSQL."""

    def begin_write(self, connection: sa.Connection) -> None:
        """Nothing to do: rows are locked one by one."""

    def turn(self) -> AbstractContextManager[None]:
        """No turn needed: rows are locked one by one."""
        return nullcontext()

    def shielded(self, connection: VisibleConnection) -> AbstractContextManager[object]:
        """A savepoint: without it a failed read would abort the transaction."""
        return connection.begin_nested()

    def lock_assets(self, connection: VisibleConnection, *, alone: bool) -> None:
        """Lock assets until the unit ends: `alone` to delete, shared to add or reference some."""
        values = {"space": LOCK_SPACE, "number": ASSETS_LOCK}
        connection.execute(_LOCK if alone else _SHARE, values)

    def lock_run_memories(self, connection: VisibleConnection, *, alone: bool) -> None:
        """Lock run memories: `alone` to look through all of them, shared to change some."""
        values = {"space": LOCK_SPACE, "number": RUN_MEMORIES_LOCK}
        connection.execute(_LOCK if alone else _SHARE, values)

    def lock_scope(self, connection: VisibleConnection, scope_key: str) -> None:
        """Lock publications in a scope."""
        connection.execute(_LOCK, {"space": SCOPE_SPACE, "number": _number(scope_key)})

    def lock_execution(self, connection: VisibleConnection, run_id: str, *, alone: bool) -> None:
        """Lock who executes a run: `alone` to become that, shared to write as that.

        A unit takes it before any other lock.
        """
        values = {"space": RUN_SPACE, "number": _number(run_id)}
        connection.execute(_LOCK if alone else _SHARE, values)

    def lock_slug(self, connection: VisibleConnection, slug: str) -> None:
        """Lock the skill of a slug, and share the lock of all skills.

        In this order, and rows after both: a transaction that waits for a slug holds no row lock.
        """
        connection.execute(_SHARE, {"space": LOCK_SPACE, "number": SKILLS_LOCK})
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(signed_fnv1a(slug))))

    def lock_skills(self, connection: VisibleConnection) -> None:
        """Lock all skills; only for a transaction that neither holds nor awaits a slug."""
        connection.execute(_LOCK, {"space": LOCK_SPACE, "number": SKILLS_LOCK})

    def contains(self, column: sa.ColumnElement[str], text: str) -> sa.ColumnElement[bool]:
        """SQL condition: `text` is a literal substring of the column."""
        return sa.func.strpos(column, text) > 0

    def locked(self, query: sa.Select[Any]) -> sa.Select[Any]:
        """Lock the rows until the unit ends."""
        return _for_update(query)

    def locked_if_free(self, query: sa.Select[Any]) -> sa.Select[Any]:
        """Lock the rows that are free, and skip locked ones."""
        return query.with_for_update(skip_locked=True)

    def announce_revision(self, connection: VisibleConnection) -> None:
        """Notify the other daemons of a new revision, once this commits."""
        connection.execute(_NOTIFY)


_OFFSET: Final = 0xCBF29CE484222325
_PRIME: Final = 0x100000001B3
_BITS: Final = 64


def fnv1a(data: bytes) -> int:
    """The FNV-1a hash, unsigned."""
    number = _OFFSET
    for byte in data:
        number = (number ^ byte) * _PRIME % (1 << _BITS)
    return number


def signed_fnv1a(text: str) -> int:
    """The FNV-1a hash of a text as a signed number, as PostgreSQL takes it."""
    number = fnv1a(text.encode(errors="surrogatepass"))
    return number - (1 << _BITS) if number >> (_BITS - 1) else number
