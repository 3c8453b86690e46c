"""Joins: rules that combine a source and a sink in a bundle, each harmless alone."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Final

from understudy.guard.flow import Flow
from understudy.guard.rule import FileKind, Finding, Join, Within
from understudy.guard.rule_book import rule_book
from understudy.guard.views import LineView, regions_of
from understudy.patterns.matcher import Matcher


@dataclass(frozen=True, kw_only=True)
class SignalReading:
    """A file with the lines of each signal."""

    path: str
    kind: FileKind
    views: Sequence[LineView]

    @cached_property
    def signals(self) -> Mapping[str, frozenset[int]]:
        """The lines (indexes in the views) of each signal."""
        return {
            signal: frozenset(
                view.index_at(start)
                for matcher in matchers
                for view in self.views
                for start in matcher.starts(view.text)
            )
            for signal, matchers in _signals().items()
        }

    @cached_property
    def regions(self) -> Sequence[int]:
        """The region number of each line."""
        return regions_of(self.views[0], self.kind)

    def at(self, signals: Collection[str]) -> frozenset[int]:
        """The lines with one of these signals."""
        return frozenset().union(*(self.signals[signal] for signal in signals))

    def code_at(self, signals: Collection[str]) -> frozenset[int]:
        """The lines of code, not of prose, with one of these signals."""
        return frozenset(index for index in self.at(signals) if self.regions[index] >= 0)

    def has_beside(self, index: int, signals: Collection[str]) -> bool:
        """Whether one of these signals is in the same region as a line."""
        region = self.regions[index]
        return any(self.regions[other] == region for other in self.at(signals))

    @cached_property
    def flow(self) -> Flow:
        """The data flow of the file."""
        return Flow(self.views[0].lines)

    def kept(self, sources: Collection[str]) -> frozenset[str]:
        """The files that hold values read at the sources of this file."""
        return self.flow.kept(self.code_at(sources))

    def number(self, index: int) -> int:
        """The line number in the file."""
        return self.views[0].numbers[index]


# A line of a file, by its index in the views.
_Line = tuple[SignalReading, int]


def joined_findings(
    readings: Sequence[SignalReading], pause: Callable[[], None]
) -> Iterator[Finding]:
    """The findings of all joins over the files."""
    code = [reading for reading in readings if reading.kind is not FileKind.DATA]
    for join in rule_book().joins:
        pause()
        for reading, index in _JOINED[join.within](join, code):
            if join.beside and not reading.has_beside(index, join.beside):
                continue
            yield join.rule.finding(reading.path, reading.number(index))


def _in_region(join: Join, readings: Sequence[SignalReading]) -> Iterator[_Line]:
    for reading in readings:
        sinks = {reading.regions[index] for index in reading.at(join.sinks)}
        for index in reading.at(join.sources):
            if reading.regions[index] in sinks:
                yield reading, index


def _by_flow(join: Join, readings: Sequence[SignalReading]) -> Iterator[_Line]:
    if not any(reading.code_at(join.sinks) for reading in readings):
        return
    kept = [reading.kept(join.sources) for reading in readings]
    keepers = Counter(path for paths in kept for path in paths)
    for reading, own in zip(readings, kept, strict=True):
        if sinks := reading.code_at(join.sinks):
            held = _from_others(reading, own, keepers)
            sources = reading.code_at(join.sources)
            yield from ((reading, index) for index in reading.flow.reached(sources, sinks, held))


def _from_others(
    reading: SignalReading, own: Collection[str], keepers: Mapping[str, int]
) -> Collection[str]:
    """The paths mentioned here that another file of the bundle writes a value to."""
    if not keepers:
        return ()
    named = reading.flow.files_of(keepers.keys())
    return {path for path in named if keepers[path] > (path in own)}


def _over_bundle(join: Join, readings: Sequence[SignalReading]) -> Iterator[_Line]:
    if any(reading.at(join.sinks) for reading in readings):
        for reading in readings:
            # Prose merely mentions it, far from any sink.
            yield from ((reading, index) for index in reading.code_at(join.sources))


_JOINED: Final[Mapping[Within, Callable[[Join, Sequence[SignalReading]], Iterable[_Line]]]] = {
    Within.REGION: _in_region,
    Within.FLOW: _by_flow,
    Within.BUNDLE: _over_bundle,
}


@cache
def _signals() -> Mapping[str, Sequence[Matcher]]:
    return {
        signal.id: [Matcher(pattern) for pattern in signal.patterns]
        for signal in rule_book().signals
    }
