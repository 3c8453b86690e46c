"""How fast the ten best records are found, in a small and in a growing store, against FTS5 alone."""

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final

from bench.report import figure, heading, percentile
from bench.retrieval_contestants import Contestant, FullTextAlone, Ours, PlainScan
from bench.retrieval_records import WORKSPACE, Record, queries, records

SIZES: Final = (32, 1_000, 100_000)
# Takes about half an hour to build, so it must be asked for.
FULL_SIZE: Final = 1_000_000
POSTGRES_SIZE: Final = 100_000
QUERIES: Final = 100
BATCH: Final = 2_000
SAMPLED: Final = 500
# A scan of the whole store takes long and is always as long.
SCAN_QUERIES: Final = 3
AT_MOST_TIMES_FTS5: Final = 3.0
SCOPES: Final = ("session", "workspace")


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """What one question took, in milliseconds, and whether the record it is about was found."""

    cpu: float
    wall: float
    is_found: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What the questions of one kind took one contestant."""

    spent: tuple[Spent, ...]

    def cpu(self, percent: int) -> float:
        """CPU time that so many percent of the questions do not exceed."""
        return percentile([each.cpu for each in self.spent], percent)

    def wall(self, percent: int) -> float:
        """The same by the clock."""
        return percentile([each.wall for each in self.spent], percent)

    @property
    def found(self) -> float:
        """The share of questions whose record was among the ten."""
        return sum(each.is_found for each in self.spent) / len(self.spent)


def main(*, quick: bool = False, full: bool = False, postgres: bool = False) -> bool:
    """Measure every size, print how the cost grows, and tell whether every target was met."""
    sizes = SIZES[:2] if quick else (*SIZES, FULL_SIZE) if full else SIZES
    before: dict[tuple[str, str], Measured] = {}
    met = True
    for size in sizes:
        before = _sqlite(size, before)
        met = met and (size != SIZES[2] or _is_met(before))
    if postgres:
        _postgres(POSTGRES_SIZE if not quick else SIZES[1])
    return met


def _is_met(measured: dict[tuple[str, str], Measured]) -> bool:
    return all(_ratio(measured, where) <= AT_MOST_TIMES_FTS5 for where in SCOPES)


def _ratio(measured: dict[tuple[str, str], Measured], where: str) -> float:
    """How many times as long as FTS5 alone ours takes."""
    return measured[Ours.name, where].cpu(50) / measured[FullTextAlone.name, where].cpu(50)


def _sqlite(size: int, before: dict[tuple[str, str], Measured]) -> dict[tuple[str, str], Measured]:
    heading(f"The ten best of {size:,} records (SQLite, CPU)")
    with tempfile.TemporaryDirectory() as made, ExitStack() as stack:
        folder = Path(made)
        scan = PlainScan(folder)
        ours = Ours(f"sqlite:///{folder}/ours.db", scan)
        contestants = (FullTextAlone(folder), scan, ours)
        for contestant in contestants:
            stack.callback(contestant.close)
        sampled = _fill(contestants, size)
        for name, spent in zip(("put", "remove"), ours.write(QUERIES), strict=True):
            figure(f"ours: to {name} an entry of 200 terms", percentile(spent, 50), "ms", at_most=1)
        measured: dict[tuple[str, str], Measured] = {}
        for where in SCOPES:
            measured |= _compare(contestants, sampled, where, size)
            _print(measured, before, where, size)
    return measured


def _fill(contestants: Sequence[Contestant], size: int) -> list[Record]:
    """Give all the same records; answers some of them to ask about."""
    spent = dict.fromkeys((each.name for each in contestants), 0.0)
    sampled: list[Record] = []
    for batch in _batches(records(size)):
        sampled += batch[:: max(1, size // SAMPLED)]
        for contestant in contestants:
            start = time.process_time()
            contestant.fill(batch)
            spent[contestant.name] += time.process_time() - start
    for name, seconds in spent.items():
        figure(f"{name}: to index a record", seconds / size * 1000, "ms")
    return sampled


def _batches(made: Iterator[Record]) -> Iterator[list[Record]]:
    while batch := list(islice(made, BATCH)):
        yield batch


def _compare(
    contestants: Sequence[Contestant], sampled: list[Record], where: str, size: int
) -> dict[tuple[str, str], Measured]:
    """Ask all contestants the same questions, one after the other."""
    asked = queries(sampled, QUERIES)
    spent: dict[str, list[Spent]] = {each.name: [] for each in contestants}
    for contestant in contestants:
        _ask(contestant, *asked[0], where)
    for number, (query, record) in enumerate(asked):
        for contestant in contestants:
            is_long = contestant.name == PlainScan.name and where == "workspace" and size > SIZES[1]
            if not is_long or number < SCAN_QUERIES:
                spent[contestant.name].append(_ask(contestant, query, record, where))
    return {(name, where): Measured(spent=tuple(each)) for name, each in spent.items()}


def _ask(contestant: Contestant, query: str, record: Record, where: str) -> Spent:
    scope = WORKSPACE if where == "workspace" else record.scopes[0]
    wall, cpu = time.perf_counter(), time.process_time()
    found = contestant.ask(query, scope)
    return Spent(
        cpu=(time.process_time() - cpu) * 1000,
        wall=(time.perf_counter() - wall) * 1000,
        is_found=record.source_id in found,
    )


def _print(
    measured: dict[tuple[str, str], Measured],
    before: dict[tuple[str, str], Measured],
    where: str,
    size: int,
) -> None:
    baseline = measured[FullTextAlone.name, where]
    for (name, scope), each in measured.items():
        if scope == where:
            _print_one(f"{where}: {name}", each, baseline, before.get((name, where)))
    target = AT_MOST_TIMES_FTS5 if size == SIZES[2] else None
    figure(f"{where}: ours by FTS5 alone, p50", _ratio(measured, where), "x", at_most=target)


def _print_one(name: str, each: Measured, baseline: Measured, before: Measured | None) -> None:
    figure(f"{name}, p50", each.cpu(50), "ms", baseline=baseline.cpu(50))
    figure(f"{name}, p95", each.cpu(95), "ms", baseline=baseline.cpu(95))
    figure(f"{name}, p50 by the clock", each.wall(50), "ms")
    figure(f"{name}, asked record among the ten", each.found * 100, "%")
    if before is not None:
        figure(f"{name}, p50 against the size before", each.cpu(50) / before.cpu(50), "x")


def _postgres(size: int) -> None:
    """Ours alone on PostgreSQL, by the clock, as most of the work is the server's."""
    # The server is the one that tests use; nothing else here needs it.
    from tests.support import postgres

    heading(f"The ten best of {size:,} records (PostgreSQL, by the clock)")
    postgres.begin_test_run()
    try:
        with (
            tempfile.TemporaryDirectory() as name,
            postgres.databases(postgres.server_url()) as make,
            ExitStack() as stack,
        ):
            scan = PlainScan(Path(name))
            ours = Ours(make(), scan)
            for contestant in (scan, ours):
                stack.callback(contestant.close)
            sampled = _fill((scan, ours), size)
            for where in SCOPES:
                each = _compare((ours,), sampled, where, size)[Ours.name, where]
                figure(f"{where}: ours, p50", each.wall(50), "ms")
                figure(f"{where}: ours, p95", each.wall(95), "ms")
                figure(f"{where}: ours, asked record among the ten", each.found * 100, "%")
    finally:
        postgres.end_test_run()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small stores only")
    parser.add_argument("--full", action="store_true", help="a million records too: half an hour")
    parser.add_argument("--postgres", action="store_true", help="also on PostgreSQL")
    options = parser.parse_args()
    met = main(quick=options.quick, full=options.full, postgres=options.postgres)
    sys.exit(0 if met else 1)
