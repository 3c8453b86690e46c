"""A unit of work: one transaction, with every store on it."""

import sqlite3
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property, partial
from typing import Final, cast

import sqlalchemy as sa

from understudy.assets.model import BlobStore
from understudy.core.bell import COMMITS, EVENTS, TABLE, Bell
from understudy.core.errors import NO_SPACE, UnderstudyError, coded_error
from understudy.core.rehearsal import begin_change, end_rehearsal
from understudy.core.visibility import SensitiveStatement, current_visibility
from understudy.memory.ports import RunMemoryStore
from understudy.runs.model import Run, RunTrace
from understudy.skills.bundles.store import BundleStore
from understudy.storage.assets import SqlBlobs
from understudy.storage.engine import Dialect, dialect_of
from understudy.storage.erasure import ErasureStore
from understudy.storage.journal import JournalStore
from understudy.storage.learnings import LearningStore
from understudy.storage.postgres import START_LOCK, hold_lock, try_lock
from understudy.storage.revision_cache import RevisionCache
from understudy.storage.run_memory_index import RunMemoryIndex
from understudy.storage.run_memory_rows import OwnRunMemories, SqlRunMemories
from understudy.storage.run_traces import traces_of
from understudy.storage.runtime import RevisionStore
from understudy.storage.schema import responses
from understudy.storage.skill_bundle_rows import SqlSkillBundles
from understudy.storage.stores import Stores
from understudy.storage.term_entries import TermCounts
from understudy.storage.term_index import TermIndex
from understudy.storage.unlearn import UnlearnStore
from understudy.storage.visibility import foreign_among, sensitive_statements
from understudy.storage.visible_connection import VisibleConnection

# Has the durable engine start work on a run whose row is committed.
Enqueue = Callable[[Run], None]
# Opens the asset blobs; rows in the database by default.
OpenBlobs = Callable[[VisibleConnection], BlobStore]
# Opens the run memories; rows in the database by default.
OpenRunMemories = Callable[[VisibleConnection], RunMemoryStore]
# Opens the skill bundles; rows in the database by default. Files need the unit for its rollback.
OpenSkillBundles = Callable[["Unit"], BundleStore]


def _bundles_as_rows(unit: "Unit") -> BundleStore:
    return SqlSkillBundles(unit.connection)


class Unit(Stores):
    """Stores that share one connection and one transaction."""

    def __init__(
        self,
        connection: VisibleConnection,
        dialect: Dialect,
        enqueue: Enqueue,
        blobs: OpenBlobs = SqlBlobs,
        run_memories: OpenRunMemories = SqlRunMemories,
        term_counts: TermCounts | None = None,
        skill_bundles: OpenSkillBundles = _bundles_as_rows,
        cache: RevisionCache | None = None,
        since: int = 0,
    ) -> None:
        super().__init__(connection, dialect)
        self._cache = cache or RevisionCache(is_on=False)
        self._since = since
        self._term_counts = term_counts or TermCounts()
        self._blobs = blobs
        self._run_memories = run_memories
        self._skill_bundles = skill_bundles
        self._enqueue = enqueue
        # Sessions whose journal grew; their readers are notified after the commit.
        self.touched: set[str] = set()
        self._traces: dict[str, frozenset[RunTrace]] = {}
        self.if_committed: list[Callable[[], None]] = []
        self.if_rolled_back: list[Callable[[BaseException], None]] = []

    @cached_property
    def blobs(self) -> BlobStore:
        return self._blobs(self.connection)

    @cached_property
    def journal(self) -> JournalStore:
        return JournalStore(self.connection, self.touched)

    @property
    def run_memories(self) -> RunMemoryStore:
        """The run memories; files have no owner, so a restricted visibility checks the runs first."""
        found = self._run_memories(self.connection)
        return (
            found
            if current_visibility.get().user_id is None
            else cast("RunMemoryStore", OwnRunMemories(found, self.connection))
        )

    @cached_property
    def run_memory_index(self) -> RunMemoryIndex:
        return RunMemoryIndex(self.connection, self._dialect, self.term_index)

    @cached_property
    def term_index(self) -> TermIndex:
        return TermIndex(self.connection, self._term_counts)

    @cached_property
    def learnings(self) -> LearningStore:
        return LearningStore(self.connection, self._dialect, self.term_index)

    @cached_property
    def revisions(self) -> RevisionStore:
        return RevisionStore(self.connection, self._cache, self._since)

    @cached_property
    def erasure(self) -> ErasureStore:
        return ErasureStore(self.connection, self.term_index)

    @cached_property
    def unlearns(self) -> UnlearnStore:
        return UnlearnStore(self)

    @cached_property
    def skill_bundles(self) -> BundleStore:
        return self._skill_bundles(self)

    def traces(self, run: Run) -> frozenset[RunTrace]:
        """The tables in which a run that ends in this unit has rows; cached."""
        if run.run_id not in self._traces:
            self._traces[run.run_id] = traces_of(self.connection, run)
        return self._traces[run.run_id]

    @property
    def changed_tables(self) -> frozenset[str]:
        """The tables that this unit has changed."""
        return frozenset(self.connection.changed)

    def foreign_among(
        self, session_ids: Sequence[str], ids: Sequence[str], user_id: str
    ) -> Iterator[str]:
        """The ids that refer to a record which a user cannot see."""
        return foreign_among(self.connection, session_ids, ids, user_id)

    def sensitive_statements(self) -> tuple[SensitiveStatement, ...]:
        """The contents of all sensitive learnings and candidates."""
        return sensitive_statements(self.connection)

    def contains(self, column: sa.ColumnElement[str], text: str) -> sa.ColumnElement[bool]:
        """SQL condition: `text` is a literal substring of the column."""
        return self._dialect.contains(column, text)

    def after_commit(self, act: Callable[[], None]) -> None:
        """Call `act` after this unit has committed; not after a rollback."""
        self.if_committed.append(act)

    def after_rollback(self, act: Callable[[BaseException], None]) -> None:
        """Call `act` with the error after this unit was rolled back."""
        self.if_rolled_back.append(act)

    def enqueue(self, run: Run) -> None:
        """Have the engine start work on the run, once this unit has committed."""
        self.after_commit(partial(self._enqueue, run))


# Driver errors caused by our statement; all others mean that the database is unavailable.
OUR_FAULT: Final = (
    sa.exc.IntegrityError,
    sa.exc.DataError,
    sa.exc.ProgrammingError,
    sa.exc.NotSupportedError,
)


@contextmanager
def reachable() -> Iterator[None]:
    """Turn errors of an unusable database into `DatabaseUnavailable`."""
    try:
        yield
    except OUR_FAULT:
        raise
    # `PendingRollbackError` reaches a unit that continues after its connection was lost.
    except (sa.exc.DBAPIError, sa.exc.TimeoutError, sa.exc.PendingRollbackError) as problem:
        raise coded_error("storage/database_unavailable") from problem


_PG_DISK_FULL: Final = "53100"
# Larger than the free pages that a small write may find on a full disk.
_PROBE_CHARS: Final = 64 * 1024
_PROBE: Final = {"key_hash": "probe", "fingerprint": "", "created_at_ms": 0}


def is_disk_full(problem: BaseException) -> bool:
    """Whether a write failed because the disk of the database, or of its files, is full."""
    cause = problem.__cause__ or problem
    if isinstance(cause, sa.exc.DBAPIError) and cause.orig is not None:
        cause = cause.orig
    if isinstance(cause, sqlite3.Error):
        return getattr(cause, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL
    if isinstance(cause, OSError):
        return cause.errno in NO_SPACE
    return getattr(cause, "sqlstate", None) == _PG_DISK_FULL


class Units:
    """Opens units of work; rings the bell after a commit that appended to a journal."""

    def __init__(
        self,
        engine: sa.Engine,
        *,
        enqueue: Enqueue,
        bell: Bell,
        blobs: OpenBlobs = SqlBlobs,
        run_memories: OpenRunMemories = SqlRunMemories,
        skill_bundles: OpenSkillBundles = _bundles_as_rows,
        cache: RevisionCache | None = None,
        announce: Callable[[Collection[str]], None] = lambda _: None,
    ) -> None:
        """`announce` tells other daemons to ring some topics, after a commit that changed anything."""
        self.engine = engine
        self.cache = cache or RevisionCache(is_on=False)
        self._announce = announce
        self._blobs = blobs
        self._run_memories = run_memories
        self._skill_bundles = skill_bundles
        self._dialect = dialect_of(engine)
        self._enqueue = enqueue
        self._bell = bell
        # Cached counts of the term index, shared by the units of this process.
        self._term_counts = TermCounts()
        self._here = threading.local()
        # Whether a write has found the disk full, and none has succeeded since.
        self.is_full = False

    def has_room(self) -> bool:
        """Whether writes find room; once the disk was full, found out by a write."""
        if self.is_full:
            row = {**_PROBE, "body": " " * _PROBE_CHARS}
            with suppress(UnderstudyError), self.write() as unit:
                unit.connection.execute(sa.insert(responses).values(row))
                unit.connection.execute(
                    sa.delete(responses).where(responses.c.key_hash == _PROBE["key_hash"])
                )
        return not self.is_full

    @contextmanager
    def read(self) -> Iterator[Unit]:
        """A unit that only reads."""
        since = self.cache.now()
        with self._one_at_a_time(), reachable(), self.engine.connect() as connection:
            yield self._unit(VisibleConnection(connection, reads=True), since)

    @contextmanager
    def write(self) -> Iterator[Unit]:
        """A unit that writes; it commits at the end, or rolls back on an exception."""
        if_rolled_back: list[Callable[[BaseException], None]] = []
        since = self.cache.now()
        try:
            with self._one_at_a_time(), reachable(), self._dialect.turn():
                with self.engine.connect() as connection, connection.begin():
                    self._dialect.begin_write(connection)
                    unit = self._unit(VisibleConnection(connection), since)
                    if_rolled_back = unit.if_rolled_back
                    begin_change(unit)
                    yield unit
                    end_rehearsal()
                    changed = unit.changed_tables
                    has_revision = RevisionCache.TABLE in changed
                    if has_revision:
                        self._dialect.announce_revision(unit.connection)
                # Before the turn ends: the next writer must not find what it was.
                if has_revision:
                    self.cache.changed()
        except BaseException as problem:
            self.is_full = self.is_full or is_disk_full(problem)
            for undo in if_rolled_back:
                undo(problem)
            raise
        self.is_full = False
        for act in unit.if_committed:
            act()
        topics = (*_topics(unit.touched), COMMITS, *map(TABLE.format, changed))
        self._bell.ring(*topics)
        if changed:
            self._announce(topics)

    def _unit(self, connection: VisibleConnection, since: int) -> Unit:
        return Unit(
            connection,
            self._dialect,
            self._enqueue,
            self._blobs,
            self._run_memories,
            self._term_counts,
            self._skill_bundles,
            self.cache,
            since,
        )

    @contextmanager
    def _one_at_a_time(self) -> Iterator[None]:
        """Refuse a nested unit: threads that hold a connection and wait for another deadlock."""
        if getattr(self._here, "is_open", False):
            raise RuntimeError("a unit of work is open on this thread; pass it on instead")
        self._here.is_open = True
        try:
            yield
        finally:
            self._here.is_open = False

    def seal(self) -> bool:
        """Seal the new rows of the digest chains; False if some may be left."""
        with self.read() as unit:
            if not unit.chains.is_behind():
                return True
        with self.write() as unit:
            return unit.chains.seal()

    @contextmanager
    def exclusively(self) -> Iterator[None]:
        """Hold the lock that only one daemon has at a time, as for its start."""
        if self.engine.dialect.name == "postgresql":
            with reachable(), hold_lock(self.engine, START_LOCK):
                yield
        else:
            yield

    @contextmanager
    def if_free(self, lock: int) -> Iterator[bool]:
        """Take a lock for work that one daemon does for all; yields False if another holds it."""
        if self.engine.dialect.name == "postgresql":
            with reachable(), try_lock(self.engine, lock) as is_held:
                yield is_held
        else:
            yield True

    def ring(self, session_ids: Collection[str]) -> None:
        """Wake the readers of these sessions."""
        self._bell.ring(*_topics(session_ids))


def _topics(session_ids: Collection[str]) -> tuple[str, ...]:
    sessions = (f"session:{session_id}" for session_id in session_ids)
    return (EVENTS, *sessions) if session_ids else ()
