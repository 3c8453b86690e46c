"""Three ways to find the ten best records for a question: full text alone, a plain scan, and ours."""

import json
import sqlite3
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Final, Protocol

from bench.retrieval_records import WORKSPACE, Record
from understudy.core.bell import Bell
from understudy.retrieval.documents import Document, Field
from understudy.retrieval.hits import CANDIDATES
from understudy.retrieval.rarity import SCAN_LIMIT
from understudy.retrieval.score import rank
from understudy.retrieval.terms import query_terms, terms_of
from understudy.storage.engine import open_engine
from understudy.storage.migrate import migrate
from understudy.storage.unit import Units

TOP: Final = 10
KIND: Final = "run"


class Contestant(Protocol):
    """Something that is filled once and then asked."""

    name: str

    def fill(self, batch: list[Record]) -> None: ...

    def ask(self, query: str, scope: str) -> list[str]:
        """The best records in scope, best first."""
        ...

    def close(self) -> None: ...


class FullTextAlone:
    """SQLite's full-text search by itself: its own words, its own ranking, the scope a column."""

    name = "FTS5 alone"

    def __init__(self, folder: Path) -> None:
        self._database = sqlite3.connect(folder / "fts5.db")
        self._database.execute("PRAGMA journal_mode=WAL")
        self._database.execute(
            "CREATE VIRTUAL TABLE found USING"
            " fts5(text, id UNINDEXED, session UNINDEXED, tokenize='porter unicode61')"
        )

    def fill(self, batch: list[Record]) -> None:
        """Index some records."""
        rows = [(record.text, record.source_id, record.scopes[0]) for record in batch]
        with self._database:
            self._database.executemany("INSERT INTO found VALUES (?, ?, ?)", rows)

    def ask(self, query: str, scope: str) -> list[str]:
        """Any of the words, ranked by bm25."""
        wanted = " OR ".join(f'"{word}"' for word in query.split())
        within = "" if scope == WORKSPACE else "AND session = :scope"
        rows = self._database.execute(
            f"SELECT id FROM found WHERE found MATCH :wanted {within} ORDER BY rank LIMIT {TOP}",
            {"wanted": wanted, "scope": scope},
        )
        return [source_id for (source_id,) in rows]

    def close(self) -> None:
        """Let go of the database."""
        self._database.close()


class PlainScan:
    """Every text in scope is read, and the words it shares with the question are counted."""

    name = "plain scan"

    def __init__(self, folder: Path) -> None:
        self._database = sqlite3.connect(folder / "scan.db")
        self._database.execute("PRAGMA journal_mode=WAL")
        self._database.execute(
            "CREATE TABLE records (id TEXT PRIMARY KEY, session TEXT, text TEXT)"
        )
        self._database.execute("CREATE INDEX by_session ON records (session)")

    def fill(self, batch: list[Record]) -> None:
        """Keep some records."""
        rows = [(record.source_id, record.scopes[0], record.text) for record in batch]
        with self._database:
            self._database.executemany("INSERT INTO records VALUES (?, ?, ?)", rows)

    def ask(self, query: str, scope: str) -> list[str]:
        """Those that share the most words."""
        wanted = frozenset(query.split())
        read = self.within(scope)
        counted = ((len(wanted.intersection(text.split())), source_id) for source_id, text in read)
        return [source_id for shared, source_id in sorted(counted, reverse=True)[:TOP] if shared]

    def within(self, scope: str) -> Iterable[tuple[str, str]]:
        """The records in scope."""
        where = "" if scope == WORKSPACE else "WHERE session = :scope"
        return self._database.execute(f"SELECT id, text FROM records {where}", {"scope": scope})

    def named(self, source_ids: list[str]) -> Iterable[tuple[str, str]]:
        """The records of these names."""
        named = "SELECT id, text FROM records WHERE id IN (SELECT value FROM json_each(?))"
        return self._database.execute(named, [json.dumps(source_ids)])

    def close(self) -> None:
        """Let go of the database."""
        self._database.close()


class Ours:
    """The index of terms for candidates, the scorer for their order, as production does it."""

    name = "ours"

    def __init__(self, url: str, texts: "PlainScan") -> None:
        self._engine = open_engine(url)
        migrate(self._engine)
        self._units = Units(self._engine, enqueue=lambda *_: None, bell=Bell())
        # Where the records themselves are read.
        self._texts = texts

    def fill(self, batch: list[Record]) -> None:
        """Index some records."""
        with self._units.write() as unit:
            for record in batch:
                terms = terms_of(record.text)
                unit.term_index.put(
                    KIND, record.source_id, scopes=record.scopes, terms=terms, at_ms=record.number
                )

    def ask(self, query: str, scope: str) -> list[str]:
        """All records of a small scope, else candidates, with the statistics of the store."""
        terms = query_terms(query)
        with self._units.read() as unit:
            index = unit.term_index
            if index.count(KIND, [scope]) <= SCAN_LIMIT:
                read = self._texts.within(scope)
            else:
                found = index.candidates(KIND, scopes=[scope], terms=terms, limit=CANDIDATES)
                read = self._texts.named([each.source_id for each in found])
            statistics = index.statistics(KIND, terms)
        ranked = rank(query, [_document(*each) for each in read], statistics=statistics)
        return [scored.id for scored in ranked[:TOP] if scored.score > 0]

    def write(self, times: int) -> tuple[list[float], list[float]]:
        """CPU milliseconds of putting an entry of 200 terms, and of removing it again."""
        terms = [f"word{number}" for number in range(200)]
        put, removed = [], []
        for number in range(times):
            with self._units.write() as unit:
                start = time.process_time()
                unit.term_index.put(
                    KIND, f"extra_{number}", scopes=[WORKSPACE], terms=terms, at_ms=0
                )
                put.append((time.process_time() - start) * 1000)
            with self._units.write() as unit:
                start = time.process_time()
                unit.term_index.remove(KIND, [f"extra_{number}"])
                removed.append((time.process_time() - start) * 1000)
        return put, removed

    def close(self) -> None:
        """Let go of the database."""
        self._engine.dispose()


def _document(source_id: str, text: str) -> Document:
    return Document(id=source_id, fields=(Field(name="summary", text=text, weight=4),))
