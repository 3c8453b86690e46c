"""How long it takes to choose a prompt's learnings, among few and among many, against FTS5 alone."""

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from random import Random
from typing import Final

from bench.learned_store import BATCH, LearnedStore, learning
from bench.report import figure, heading, percentile
from bench.retrieval_contestants import FullTextAlone
from bench.retrieval_records import WORKSPACE, Record, records, words
from understudy.learnings.model import Learning
from understudy.sessions.learning_scopes import WORKSPACE as WORKSPACE_SCOPE
from understudy.sessions.learning_scopes import session_scope

SIZES: Final = (100, 10_000, 100_000)
SESSION: Final = "s1"
# Learnings are short, and the first of them are the session's own.
WORDS_PER_LEARNING: Final = 16
OWN: Final = 50
TIMES: Final = 60
MOST_MS: Final = 60.0
# Words of this place in the vocabulary are rare or common: the first are in every other record.
RARE: Final = range(5_000, 60_000)
COMMON: Final = range(20, 200)
# How many records hold a word that is asked for by itself, to see how the cost grows with that.
MATCHES: Final = (10, 100, 1_000, 10_000)


def main(*, quick: bool = False, postgres: bool = False) -> bool:
    """Measure every size, on SQLite and if asked on PostgreSQL; tells whether the target was met."""
    sizes = SIZES[:2] if quick else SIZES
    met = [_sqlite(size) for size in sizes]
    if postgres:
        _postgres(sizes[-1])
    return all(met)


def _sqlite(size: int) -> bool:
    heading(f"A prompt's learnings among {size:,} visible ones (SQLite, CPU)")
    with tempfile.TemporaryDirectory() as made:
        store = LearnedStore(f"sqlite:///{made}/learned.db")
        baseline = FullTextAlone(Path(made))
        try:
            _fill(size, store, baseline)
            return _measure(store, baseline, size)
        finally:
            baseline.close()
            store.close()


def _fill(size: int, store: LearnedStore, baseline: FullTextAlone | None = None) -> None:
    spent = 0.0
    made = _records(size)
    while batch := list(islice(made, BATCH)):
        start = time.process_time()
        store.fill(map(_learning, batch))
        spent += time.process_time() - start
        if baseline is not None:
            baseline.fill(batch)
    figure("to store and index a learning", spent / size * 1000, "ms")


def _records(size: int) -> Iterator[Record]:
    """Short records; some of the words that are asked for alone are in exactly so many of them."""
    for record in records(size):
        text = " ".join(record.text.split()[:WORDS_PER_LEARNING])
        marks = [_mark(count) for count in MATCHES if record.number % max(1, size // count) == 0]
        yield Record(number=record.number, text=" ".join([text, *marks]))


def _mark(count: int) -> str:
    return f"markword{count}x"


def _learning(record: Record) -> Learning:
    scope = session_scope(SESSION) if record.number < OWN else WORKSPACE_SCOPE
    said_in = record.scopes[0]
    return learning(record.source_id, record.text, scope, record.number, said_in=said_in)


def _measure(store: LearnedStore, baseline: FullTextAlone, size: int) -> bool:
    rare = _queries(RARE)
    usual = percentile(_spent(lambda query: baseline.ask(query, WORKSPACE), rare), 50)
    figure("FTS5 alone: three rare words, p50", usual, "ms")
    spent = _spent(lambda query: store.ask(query, SESSION), rare)
    met = figure(
        "three rare words, p50", percentile(spent, 50), "ms", baseline=usual, at_most=MOST_MS
    )
    figure("three rare words, p95", percentile(spent, 95), "ms", baseline=usual)
    for name, queries in (
        ("two rare words and two common ones", _queries(RARE, COMMON)),
        ("nothing to compare with", [""] * TIMES),
        ("whatever is remembered", ["what do you remember"] * TIMES),
    ):
        both = _spent(lambda query: store.ask(query or None, SESSION), queries)
        figure(f"{name}, p50", percentile(both, 50), "ms", baseline=usual)
    for count in MATCHES:
        if count <= size // 10:
            both = _spent(lambda query: store.ask(query, SESSION), [_mark(count)] * TIMES)
            figure(f"one word that {count:,} hold, p50", percentile(both, 50), "ms", baseline=usual)
    return met


def _queries(*bands: range) -> list[str]:
    """Questions of words of these bands: three of one, or two of each."""
    random, vocabulary = Random(4), words()
    each = 3 if len(bands) == 1 else 2
    return [
        " ".join(vocabulary[at] for band in bands for at in random.sample(band, each))
        for _ in range(TIMES)
    ]


def _spent(
    ask: Callable[[str], object],
    queries: Sequence[str],
    clock: Callable[[], float] = time.process_time,
) -> list[float]:
    """What each question took, in milliseconds; the first one warms up."""
    ask(queries[0])
    spent = []
    for query in queries:
        start = clock()
        ask(query)
        spent.append((clock() - start) * 1000)
    return spent


def _postgres(size: int) -> None:
    # The server is the one that tests use; nothing else here needs it.
    from tests.support import postgres

    heading(f"A prompt's learnings among {size:,} visible ones (PostgreSQL, by the clock)")
    postgres.begin_test_run()
    try:
        with postgres.databases(postgres.server_url()) as make:
            store = LearnedStore(make())
            try:
                _fill(size, store)
                for name, queries in (
                    ("three rare words", _queries(RARE)),
                    ("two rare words and two common ones", _queries(RARE, COMMON)),
                    ("nothing to compare with", [""] * TIMES),
                ):
                    spent = _spent(
                        lambda query: store.ask(query or None, SESSION), queries, time.perf_counter
                    )
                    figure(f"{name}, p50", percentile(spent, 50), "ms")
                    figure(f"{name}, p95", percentile(spent, 95), "ms")
            finally:
                store.close()
    finally:
        postgres.end_test_run()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="without the largest store")
    parser.add_argument("--postgres", action="store_true", help="also on PostgreSQL")
    options = parser.parse_args()
    sys.exit(0 if main(quick=options.quick, postgres=options.postgres) else 1)
