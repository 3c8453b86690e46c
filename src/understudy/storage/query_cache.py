"""Cache of hot query results, kept between units until a commit changes one of their tables.

A unit that began before a change may have read stale rows, so its results are cached only if none
of their tables changed since it began. On PostgreSQL other daemons announce their changes; while no
connection listens, nothing is cached.
"""

import threading
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from typing import Any, Final, TypeVar, cast

import sqlalchemy as sa

from understudy.core.recent_cache import RecentCache
from understudy.core.sight import WHOLE, current_sight
from understudy.storage.schema import (
    accepted_mcp_tools,
    agent_files,
    agents,
    learning_candidates,
    learnings,
    project_sessions,
    requests,
    rollouts,
    run_memories,
    run_memory_backlog,
    run_memory_scopes,
    runs,
    runtime_revisions,
    session_mcp_servers,
    skill_roots,
    skills,
    tokens,
    tool_switches,
    user_context_files,
)
from understudy.storage.visible import VisibleConnection

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")

MAX_ENTRIES: Final = 4096
# The most results by key, for each use of a table.
MAX_KEYS: Final = 8192
# Tables whose results may be cached: read by every run, or by every request of a viewer.
CACHED: Final = frozenset(
    table.name
    for table in (
        accepted_mcp_tools,
        agent_files,
        agents,
        learning_candidates,
        learnings,
        project_sessions,
        rollouts,
        runtime_revisions,
        session_mcp_servers,
        skill_roots,
        tokens,
        tool_switches,
        user_context_files,
    )
)
# Tables whose results may be cached where no other daemon uses the database: runs change them too
# often to announce it.
CACHED_ALONE: Final = frozenset(
    table.name
    for table in (
        requests,
        run_memories,
        run_memory_backlog,
        run_memory_scopes,
        runs,
        skills,
    )
)


class QueryCache:
    """Shared by the units of a daemon; safe to use from any thread."""

    def __init__(self, *, is_alone: bool = False) -> None:
        self._lock = threading.Lock()
        self.is_on = True
        # Tables whose results may be cached here.
        self.tables = CACHED | CACHED_ALONE if is_alone else CACHED
        self._tick = 0
        # When each table last changed, in ticks.
        self._changed_at: dict[str, int] = {}
        self._results: dict[Hashable, tuple[Any, frozenset[str]]] = {}
        # The keys of the results of each table.
        self._keys: dict[str, set[Hashable]] = {}
        # Results by key, for each use of a table.
        self._shelves: dict[tuple[str, str], RecentCache[Any, tuple[Any]]] = {}

    def now(self) -> int:
        """The current tick; taken before a unit begins."""
        return self._tick

    def find(self, key: Hashable) -> tuple[Any, frozenset[str]] | None:
        """A cached result with its tables."""
        return self._results.get(key)

    def keep(self, key: Hashable, result: Any, tables: frozenset[str], *, since: int) -> None:
        """Cache a result that a unit of tick `since` has read, unless a table changed meanwhile."""
        with self._lock:
            if not self.is_on or not tables <= self.tables:
                return
            if any(self._changed_at.get(name, 0) > since for name in tables):
                return
            if len(self._results) >= MAX_ENTRIES:
                self._results.clear()
                self._keys.clear()
            self._results[key] = (result, tables)
            for name in tables:
                self._keys.setdefault(name, set()).add(key)

    def shelf(self, name: str, use: str, *, since: int) -> RecentCache[Any, tuple[Any]]:
        """Results of a table by key, to read from and add to.

        A unit of tick `since` gets an empty one of its own if the table changed meanwhile.
        """
        with self._lock:
            is_cached = self.is_on and name in self.tables
            if not is_cached or self._changed_at.get(name, 0) > since:
                return RecentCache(MAX_KEYS)
            kept = self._shelves.get((name, use))
            if kept is None:
                kept = self._shelves[name, use] = RecentCache(MAX_KEYS)
            return kept

    def changed(self, names: Collection[str]) -> None:
        """Drop the results of tables after a commit that changed them."""
        with self._lock:
            self._tick += 1
            self._changed_at.update(dict.fromkeys(names, self._tick))
            for key in {key for name in names for key in self._keys.pop(name, ())}:
                _, tables = self._results.pop(key)
                for other in tables.difference(names):
                    self._keys[other].discard(key)
            for of in [of for of in self._shelves if of[0] in names]:
                del self._shelves[of]

    def switch(self, *, is_on: bool) -> None:
        """Clear the cache; while off, nothing is cached."""
        # Off first: what is read while it is cleared must not be kept.
        self.is_on = False
        self.changed(self.tables)
        self.is_on = is_on


class CachedReads:
    """The cache as seen by one unit of work: bypassed for tables that the unit has changed."""

    def __init__(self, connection: VisibleConnection, cache: QueryCache | None, since: int) -> None:
        self._connection = connection
        self._cache = cache
        self._since = since

    def __call__(self, key: Hashable, tables: tuple[sa.Table, ...], load: Callable[[], T]) -> T:
        """The cached result of `load`, which reads only these tables."""
        names = frozenset(table.name for table in tables)
        if self._cache is None or not self._may_share(names):
            return load()
        kept = self._cache.find(key)
        if kept is not None:
            return cast("T", kept[0])
        result = load()
        self._cache.keep(key, result, names, since=self._since)
        return result

    def each(
        self,
        use: str,
        table: sa.Table,
        keys: Sequence[K],
        load: Callable[[Sequence[K]], Mapping[K, T]],
    ) -> dict[K, T]:
        """The results of `load` for keys of this table, cached one by one.

        A key without a result is left out, and is not asked for again.
        """
        if self._cache is None or not self._may_share(frozenset((table.name,))):
            return dict(load(keys))
        shelf = self._cache.shelf(table.name, use, since=self._since)
        kept = {key: shelf.get(key) for key in keys}
        unknown = [key for key, result in kept.items() if result is None]
        if unknown:
            found = load(unknown)
            for key in unknown:
                result = kept[key] = (found.get(key),)
                shelf.put(key, result)
        return {key: it[0] for key, it in kept.items() if it is not None and it[0] is not None}

    def _may_share(self, names: frozenset[str]) -> bool:
        """Whether results do not depend on the caller's sight or on changes of this unit."""
        return current_sight.get() == WHOLE and names.isdisjoint(self._connection.changed)
