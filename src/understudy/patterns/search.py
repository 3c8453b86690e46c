"""Search of a text by many rules in linear time: a set of cheap triggers first, then patterns.

A rule's trigger is in every text that its pattern matches. The triggers of all rules are matched
at once, window by window; a pattern runs only around the windows that contain its trigger.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, chain
from typing import Any, Final, Generic, TypeVar

import re2

from understudy.patterns.linear import Span, options, spans_of
from understudy.patterns.rule_book import ProvenRule

# The sets run over windows: on a long text they lose their speed.
WINDOW: Final = 3_000
# Longer than any trigger, so that none is lost at a window boundary.
OVERLAP: Final = 128
# The margins around a window: a match may begin before its trigger and end long after. A match
# that reaches the margin is followed further.
LEAD: Final = 512
TAIL: Final = 1_024
BLOCK: Final = 8_192
_MEMORY: Final = 256 << 20


# Not frozen: one is created per match, and freezing triples its cost.
@dataclass(slots=True)
class PatternMatch:
    """A match of a pattern: the text that was searched, and the spans of the groups."""

    string: str
    spans: Sequence[Span]
    names: Mapping[str, int]
    # The span that the previous match picked.
    taken: Span = (0, 0)

    def span(self, name: str | None = None) -> Span:
        """The span of a group; without a name, of the whole match."""
        return self.spans[self.names[name] if name else 0]

    def __getitem__(self, name: str) -> str:
        start, end = self.spans[self.names[name]]
        # A group that did not participate has the span (-1, -1).
        return self.string[start:end] if start >= 0 else ""


# Returns the spans of a match to report; none for a false positive.
Pick = Callable[[PatternMatch], Iterable[Span]]


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchRule(ProvenRule):
    """A rule with a cheap trigger and an RE2 pattern."""

    # Cheap to match, and in every text that the pattern matches.
    trigger: str
    pattern: str
    pick: Pick
    # Whether a match may extend far behind its trigger.
    is_long: bool = False


_Rule = TypeVar("_Rule", bound=SearchRule)


class Searcher(Generic[_Rule]):
    """Compiled rules.

    Each table of rules has its own RE2 set: the states of a set are the product of those of its
    triggers, and matching slows down with their number.
    """

    def __init__(self, *tables: Sequence[_Rule]) -> None:
        self.rules = tuple(chain(*tables))
        self._compiled = tuple(map(_Compiled, self.rules))
        starts = accumulate(map(len, tables), initial=0)
        self._sets = [
            (start, len(table), _trigger_set(table))
            for start, table in zip(starts, tables, strict=False)
        ]

    def find(self, text: str) -> Iterator[tuple[_Rule, Span]]:
        """The spans that the rules pick in the text, rule by rule."""
        whole = _Piece(text)
        for index, regions in sorted(self._regions(whole).items()):
            rule = self.rules[index]
            reached = 0
            for first, last in regions:
                # A match that left its region was already followed to its end.
                if last > reached:
                    for span in self._compiled[index].search(whole, max(first, reached), last):
                        reached = max(reached, span[1])
                        yield rule, span

    def _regions(self, whole: "_Piece") -> Mapping[int, list[Span]]:
        """The regions to search, for each rule whose trigger matches."""
        size = len(whole.text)
        if size <= WINDOW:
            return {index: [(0, size)] for index in self._triggered(whole.encoded)}
        regions: dict[int, list[Span]] = defaultdict(list)
        for start in range(0, size, WINDOW - OVERLAP):
            end = min(start + WINDOW, size)
            for index in self._triggered(whole.part(start, end).encoded):
                known = regions[index]
                if known and known[-1][1] >= start:
                    known[-1] = known[-1][0], end
                else:
                    known.append((start, end))
        return regions

    def _triggered(self, window: bytes) -> list[int]:
        """The indexes of the rules whose trigger matches in a window."""
        found: list[int] = []
        for start, size, triggers in self._sets:
            # Not even the last trigger, an empty one, matched: the set ran out of memory.
            matched = triggers.Match(window) or range(size)
            found += [start + index for index in matched if index < size]
        return found


class _Compiled:
    """A compiled rule."""

    def __init__(self, rule: SearchRule) -> None:
        self._rule = rule
        self._lead, self._tail = (BLOCK, BLOCK) if rule.is_long else (LEAD, TAIL)

    @cached_property
    def _pattern(self) -> Any:
        return re2.compile(self._rule.pattern, options(_MEMORY))

    @cached_property
    def _names(self) -> Mapping[str, int]:
        return dict(self._pattern.groupindex)

    def search(self, whole: "_Piece", first: int, last: int) -> Iterator[Span]:
        """The spans that the rule picks in a region; follows a match beyond its end."""
        low, high = max(0, first - self._lead), last + self._tail
        while True:
            piece = whole.part(low, high)
            may_go_on = high < len(whole.text)
            # The next line of a key block may lie beyond the piece.
            edge = len(piece.text) - (TAIL if self._rule.is_long else 0)
            taken, cut = (0, 0), -1
            for groups in piece.matches(self._pattern):
                spans = tuple(self._rule.pick(PatternMatch(piece.text, groups, self._names, taken)))
                if may_go_on and _reach(groups[0], spans) >= edge:
                    cut = groups[0][0]
                    break
                for taken in spans:
                    yield low + taken[0], low + taken[1]
            if cut < 0:
                return
            low, high = max(low, low + cut - LEAD), high + 4 * len(piece.text)


class _Piece:
    """A piece of text as characters, for rules, and as bytes, for RE2."""

    __slots__ = ("_is_plain", "encoded", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.encoded = text.encode()
        self._is_plain = len(self.encoded) == len(text)

    def part(self, low: int, high: int) -> "_Piece":
        """The characters from `low` to `high`."""
        if low == 0 and high >= len(self.text):
            return self
        return _Piece(self.text[low:high])

    def matches(self, pattern: Any) -> Iterable[Sequence[Span]]:
        """The spans of the groups of each match, in characters."""
        found = spans_of(pattern, self.encoded)
        return found if self._is_plain else self._in_characters(found)

    def _in_characters(self, found: Iterable[Sequence[Span]]) -> Iterator[Sequence[Span]]:
        at = characters = 0
        for spans in found:
            # A group that did not participate has the span (-1, -1).
            places = {-1: -1}
            for offset in sorted({*chain(*spans)}) if len(spans) > 1 else spans[0]:
                if offset >= at:
                    characters += len(self.encoded[at:offset].decode())
                    at, places[offset] = offset, characters
            yield [(places[start], places[end]) for start, end in spans]


def _reach(match: Span, spans: Iterable[Span]) -> int:
    return max((match[1], *(end for _, end in spans)))


def _trigger_set(rules: Iterable[SearchRule]) -> Any:
    triggers = re2.Set.SearchSet(options(_MEMORY))
    for trigger in (*(rule.trigger for rule in rules), ""):
        triggers.Add(trigger)
    triggers.Compile()
    return triggers
