"""The entries of the term index, and cached counts of them."""

import json
import time
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, Generic, TypeVar

import sqlalchemy as sa
import structlog
from sqlalchemy.dialects import postgresql, sqlite

from understudy.core.batches import BATCH
from understudy.retrieval.documents import TermHit
from understudy.retrieval.rarity import COUNT_AGE_S
from understudy.storage.schema import term_entries
from understudy.storage.visible_connection import VisibleConnection

log = structlog.get_logger()

WRITTEN: Final = ("kind", "source_id", "at_ms", "length", "scopes", "tokens")


def _upsert(insert: Any) -> Any:
    statement = insert(term_entries).values({name: sa.bindparam(name) for name in WRITTEN})
    return statement.on_conflict_do_update(
        index_elements=["kind", "source_id"],
        set_={name: statement.excluded[name] for name in WRITTEN},
    ).returning(term_entries.c.number)


# Locks the row of the entry until the unit ends, whether it is new or not.
UPSERT: Final = {"sqlite": _upsert(sqlite.insert), "postgresql": _upsert(postgresql.insert)}
OF_SOURCES: Final = (
    sa.select(term_entries.c.number, term_entries.c.tokens)
    .where(
        term_entries.c.kind == sa.bindparam("kind"),
        term_entries.c.source_id.in_(sa.bindparam("source_ids", expanding=True)),
    )
    # Deleted in one order, which avoids deadlocks.
    .order_by(term_entries.c.number)
    .with_for_update()
)
DELETE: Final = sa.delete(term_entries).where(
    term_entries.c.number.in_(sa.bindparam("numbers", expanding=True))
)
DELETE_KIND: Final = sa.delete(term_entries).where(
    term_entries.c.number.in_(
        sa.select(term_entries.c.number)
        .where(term_entries.c.kind == sa.bindparam("kind"))
        .order_by(term_entries.c.number)
        .with_for_update()
    )
)
AFTER: Final = (
    sa.select(term_entries.c.number, term_entries.c.tokens)
    .where(term_entries.c.number > sa.bindparam("number"))
    .order_by(term_entries.c.number)
    .limit(BATCH)
)
TOTALS: Final = sa.select(
    sa.func.count(), sa.func.coalesce(sa.func.sum(term_entries.c.length), 0)
).where(term_entries.c.kind == sa.bindparam("kind"))


class TermEntries:
    """Entries in a table."""

    def __init__(self, connection: VisibleConnection) -> None:
        self._connection = connection

    def put(
        self,
        kind: str,
        source_id: str,
        *,
        scopes: Sequence[str],
        at_ms: int,
        length: int,
        tokens: bytes,
    ) -> int:
        """Write an entry, keeping the number of an older one; answers the number."""
        values = {
            "kind": kind,
            "source_id": source_id,
            "at_ms": at_ms,
            "length": length,
            "scopes": list(scopes),
            "tokens": tokens,
        }
        upsert = UPSERT[self._connection.dialect.name]
        number: int = self._connection.execute(upsert, values).scalar_one()
        return number

    def of(self, kind: str, source_ids: Sequence[str]) -> dict[int, bytes]:
        """Numbers and tokens of some sources, locked until the unit ends."""
        values = {"kind": kind, "source_ids": list(source_ids)}
        return {row.number: row.tokens for row in self._connection.execute(OF_SOURCES, values)}

    def all(self) -> Iterator[tuple[int, bytes]]:
        """Numbers and tokens of every entry of every kind."""
        number = 0
        while rows := self._connection.execute(AFTER, {"number": number}).all():
            yield from ((row.number, row.tokens) for row in rows)
            number = rows[-1].number

    def delete(self, numbers: Collection[int]) -> None:
        """Delete entries."""
        self._connection.execute(DELETE, {"numbers": list(numbers)})

    def delete_kind(self, kind: str) -> None:
        """Delete all entries of a kind."""
        self._connection.execute(DELETE_KIND, {"kind": kind})

    def totals(self, kind: str) -> tuple[int, int]:
        """How many entries a kind has, and how many terms these have together."""
        documents, length = self._connection.execute(TOTALS, {"kind": kind}).one()
        return documents, int(length)


def candidates(rows: Sequence[Any], scopes: Collection[str]) -> list[TermHit]:
    """The rows that are in one of the scopes, after hash collisions are removed."""
    allowed = frozenset(scopes)
    return [
        TermHit(source_id, at_ms)
        for source_id, at_ms, stored in rows
        if not allowed.isdisjoint(_scopes(source_id, stored))
    ]


def _scopes(source_id: str, stored: str) -> frozenset[str]:
    """The scopes of an entry; none for a damaged one, so that it is not found."""
    try:
        return _read_scopes(stored)
    except (TypeError, ValueError, RecursionError) as problem:
        log.warning("term_index.entry_damaged", source_id=source_id, reason=type(problem).__name__)
        return frozenset()


# The entries of a conversation have the same scopes.
@lru_cache(maxsize=1_024)
def _read_scopes(stored: str) -> frozenset[str]:
    return frozenset(json.loads(stored))


K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

MAX_KEPT: Final = 20_000


class TimedCache(Generic[K, V]):
    """Values by key, each for a limited time."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._values: dict[K, tuple[float, V]] = {}

    def __len__(self) -> int:
        return len(self._values)

    def get(self, key: K) -> V | None:
        """The cached value, unless it is too old."""
        until, value = self._values.get(key, (0.0, None))
        return value if self._now() < until else None

    def put(self, values: Mapping[K, V]) -> None:
        """Cache values from now on."""
        if len(self._values) + len(values) > MAX_KEPT:
            self._values.clear()
        until = self._now() + COUNT_AGE_S
        self._values.update({key: (until, value) for key, value in values.items()})

    def clear(self) -> None:
        """Clear the cache."""
        self._values.clear()


class TermCounts:
    """The counts of the term index that one process caches."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        # How many entries hold a token.
        self.frequencies: TimedCache[bytes, int] = TimedCache(now)
        # How many entries a kind has, and how many terms these have together.
        self.totals: TimedCache[str, tuple[int, int]] = TimedCache(now)

    def clear(self) -> None:
        """Clear the cached counts."""
        self.frequencies.clear()
        self.totals.clear()
