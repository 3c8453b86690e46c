"""Joins what a bundle reads to where it puts it: neither is telling without the other."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

from understudy.guard.book import rule_book
from understudy.guard.flow import kept, reached
from understudy.guard.regions import regions_of
from understudy.guard.rule import Finding, Join, Place, Within
from understudy.guard.search import Matcher
from understudy.guard.view import View


@dataclass(frozen=True, kw_only=True)
class Reading:
    """A file as the joins see it: which signals are on which of its lines."""

    path: str
    place: Place
    views: Sequence[View]

    @cached_property
    def signals(self) -> Mapping[str, frozenset[int]]:
        """For each signal the lines (counted in the views) it is on."""
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
        """For each line the region it is in."""
        return regions_of(self.views[0], self.place)

    def at(self, signals: Collection[str]) -> frozenset[int]:
        """The lines that hold one of these signals."""
        return frozenset().union(*(self.signals[signal] for signal in signals))

    def code_at(self, signals: Collection[str]) -> frozenset[int]:
        """The lines of code, not of prose, that hold one of these signals."""
        return frozenset(index for index in self.at(signals) if self.regions[index] >= 0)

    def kept(self, sources: Collection[str]) -> frozenset[str]:
        """The files that what is read here is kept in."""
        found = self.code_at(sources)
        return kept(self.views[0].lines, found) if found else frozenset()

    def number(self, index: int) -> int:
        """The line of the file."""
        return self.views[0].numbers[index]


def joined_findings(readings: Sequence[Reading]) -> Iterator[Finding]:
    """What the files say together."""
    code = [reading for reading in readings if reading.place is not Place.DATA]
    for join in rule_book().joins:
        for reading in code:
            for index in _JOINED[join.within](join, reading, code):
                rule = join.rule
                yield Finding(
                    rule_id=rule.id,
                    category=rule.category,
                    path=reading.path,
                    line=reading.number(index),
                    reason=rule.reason,
                )


def _in_region(join: Join, reading: Reading, _: Sequence[Reading]) -> Iterable[int]:
    sinks = {reading.regions[index] for index in reading.at(join.sinks)}
    return {index for index in reading.at(join.sources) if reading.regions[index] in sinks}


def _by_flow(join: Join, reading: Reading, readings: Sequence[Reading]) -> Iterable[int]:
    sinks = reading.code_at(join.sinks)
    if not sinks:
        return ()
    # What another file of the bundle put into a file.
    held = {path for other in readings if other is not reading for path in other.kept(join.sources)}
    return reached(reading.views[0].lines, reading.code_at(join.sources), sinks, held)


def _over_bundle(join: Join, reading: Reading, readings: Sequence[Reading]) -> Iterable[int]:
    sources = reading.at(join.sources)
    return sources if sources and any(other.at(join.sinks) for other in readings) else ()


_JOINED = {
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
