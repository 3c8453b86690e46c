"""Finds where which rules may match at all, then lets only those look there; in linear time."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import re2

from understudy.redaction.rule import Match, Rule, Span

# The set is run over windows: over a long text it would lose its speed.
WINDOW: Final = 3_000
# Longer than any trigger, so that none is lost between two windows.
OVERLAP: Final = 128
# How far around its windows a rule may look: what is found may begin before its trigger and end
# long after. What goes on even further is followed.
LEAD: Final = 512
TAIL: Final = 1_024
BLOCK: Final = 8_192
_MEMORY: Final = 256 << 20


class Searcher:
    """Some rules, compiled once and ready to search."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self.rules = rules
        self._set = re2.Set.SearchSet(_options())
        for rule in rules:
            self._set.Add(rule.trigger)
        # Matches every text: an answer without it means that the set ran out of memory.
        self._set.Add("")
        self._set.Compile()
        self._patterns: dict[int, tuple[Any, Mapping[str, int]]] = {}

    def find(self, text: str) -> Iterator[tuple[Rule, Span]]:
        """What the rules take out of the text, rule by rule."""
        for index, regions in sorted(self._regions(text).items()):
            reached = 0
            for first, last in regions:
                # A find that went on past its region has been followed to its end.
                if last > reached:
                    for span in self._search(index, text, max(first, reached), last):
                        reached = max(reached, span[1])
                        yield self.rules[index], span

    def _regions(self, text: str) -> Mapping[int, list[Span]]:
        """For each rule with a trigger in the text, the stretches to look at."""
        everything = len(self.rules)
        regions: dict[int, list[Span]] = defaultdict(list)
        for start in range(0, len(text), WINDOW - OVERLAP):
            window = text[start : start + WINDOW]
            for index in self._set.Match(window) or range(everything):
                known = regions[index]
                if known and known[-1][1] >= start:
                    known[-1] = known[-1][0], start + len(window)
                else:
                    known.append((start, start + len(window)))
        regions.pop(everything, None)
        return regions

    def _search(self, index: int, text: str, first: int, last: int) -> Iterator[Span]:
        rule = self.rules[index]
        pattern, names = self._pattern(index)
        is_block = rule.is_long or rule.kind == "private-key"
        low = max(0, first - (BLOCK if is_block else LEAD))
        high = min(len(text), last + (BLOCK if is_block else TAIL))
        while True:
            piece = text[low:high]
            # Of plain ASCII the library need not count characters.
            subject = piece.encode() if piece.isascii() else piece
            may_go_on = high < len(text)
            # The next line of a key may lie beyond the piece.
            edge = len(piece) - (TAIL if is_block else 0)
            taken, cut = (0, 0), -1
            for match in pattern.finditer(subject):
                # Its own API reads groups by number only, and one by one.
                groups = match._spans  # noqa: SLF001
                spans = tuple(rule.pick(Match(piece, groups, names, taken)))
                reach = max((groups[0][1], *(end for _, end in spans)))
                if may_go_on and reach >= edge:
                    cut = groups[0][0]
                    break
                for taken in spans:
                    yield low + taken[0], low + taken[1]
            if cut < 0:
                return
            low, high = max(low, low + cut - LEAD), high + 4 * len(piece)

    def _pattern(self, index: int) -> tuple[Any, Mapping[str, int]]:
        if index not in self._patterns:
            pattern = re2.compile(self.rules[index].pattern, _options())
            self._patterns[index] = pattern, dict(pattern.groupindex)
        return self._patterns[index]


def _options() -> Any:
    options = re2.Options()
    options.max_mem = _MEMORY
    options.log_errors = False
    return options
