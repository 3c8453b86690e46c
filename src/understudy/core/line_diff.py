"""Which lines of two texts differ, in bounded time."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

# Unchanged lines shown around a hunk.
CONTEXT: Final = 3
# Maximum edit distance; the memory for backtracking grows with its square.
MAX_DISTANCE: Final = 600


@dataclass(frozen=True, slots=True)
class ChangedLines:
    """Lines [old_from, old_to) of the old text became [new_from, new_to) of the new one."""

    old_from: int
    old_to: int
    new_from: int
    new_to: int


class Effort:
    """The step budget of a diff; once it is spent, changes are shown more coarsely."""

    def __init__(self, steps: int) -> None:
        self.left = steps

    def spend(self, steps: int) -> bool:
        """Spend steps of the budget; False when there are not enough."""
        self.left -= steps
        return self.left >= 0


def changes(old: Sequence[str], new: Sequence[str], effort: Effort) -> list[ChangedLines]:
    """The changes that lead from one text to the other, in order."""
    start = _common(old, new)
    end = _common(old[start:][::-1], new[start:][::-1])
    inner_old, inner_new = old[start : len(old) - end], new[start : len(new) - end]
    if not inner_old and not inner_new:
        return []
    equal = _equal(inner_old, inner_new, effort)
    return list(_gathered(equal, len(inner_old), len(inner_new), start))


def unified(old: Sequence[str], new: Sequence[str], effort: Effort) -> Iterator[str]:
    """The lines of a unified diff, without the two that name the files."""
    for hunk in _hunks(changes(old, new, effort)):
        old_from = max(0, hunk[0].old_from - CONTEXT)
        new_from = hunk[0].new_from - (hunk[0].old_from - old_from)
        old_to = min(len(old), hunk[-1].old_to + CONTEXT)
        new_to = hunk[-1].new_to + (old_to - hunk[-1].old_to)
        yield f"@@ -{_span(old_from, old_to)} +{_span(new_from, new_to)} @@"
        at = old_from
        for change in hunk:
            yield from (" " + line for line in old[at : change.old_from])
            yield from ("-" + line for line in old[change.old_from : change.old_to])
            yield from ("+" + line for line in new[change.new_from : change.new_to])
            at = change.old_to
        yield from (" " + line for line in old[at:old_to])


def _common(old: Sequence[str], new: Sequence[str]) -> int:
    count = 0
    for one, other in zip(old, new, strict=False):
        if one != other:
            break
        count += 1
    return count


def _equal(old: Sequence[str], new: Sequence[str], effort: Effort) -> list[tuple[int, int]]:
    """Pairs of equal lines; none when the search exceeds the step budget."""
    # A line that only one text has is never equal, so only shared lines are compared.
    shared = set(old) & set(new)
    olds, news = ([at for at, it in enumerate(text) if it in shared] for text in (old, new))
    steps = _shortest([old[at] for at in olds], [new[at] for at in news], effort)
    return [(olds[x], news[y]) for x, y in steps or ()]


def _shortest(
    old: Sequence[str], new: Sequence[str], effort: Effort
) -> list[tuple[int, int]] | None:
    """The pairs of equal lines on a shortest edit path (Myers 1986); None if over budget."""
    reached = {1: 0}
    rounds: list[dict[int, int]] = []
    for distance in range(min(len(old) + len(new), MAX_DISTANCE) + 1):
        rounds.append(dict(reached))
        # The cost of the copy and of this round's diagonals.
        if not effort.spend(2 * distance + 1):
            return None
        for diagonal in range(-distance, distance + 1, 2):
            down = diagonal == -distance or (
                diagonal != distance and reached[diagonal - 1] < reached[diagonal + 1]
            )
            x = reached[diagonal + 1] if down else reached[diagonal - 1] + 1
            y = x - diagonal
            begun = x
            while x < len(old) and y < len(new) and old[x] == new[y]:
                x, y = x + 1, y + 1
            reached[diagonal] = x
            if not effort.spend(x - begun):
                return None
            if x >= len(old) and y >= len(new):
                return _way_back(rounds, len(old), len(new))
    return None


def _way_back(rounds: list[dict[int, int]], x: int, y: int) -> list[tuple[int, int]]:
    equal: list[tuple[int, int]] = []
    for distance in range(len(rounds) - 1, -1, -1):
        reached = rounds[distance]
        diagonal = x - y
        down = diagonal == -distance or (
            diagonal != distance and reached[diagonal - 1] < reached[diagonal + 1]
        )
        before = diagonal + 1 if down else diagonal - 1
        before_x = reached[before]
        before_y = before_x - before
        while x > max(before_x, 0) and y > max(before_y, 0):
            x, y = x - 1, y - 1
            equal.append((x, y))
        x, y = before_x, before_y
    return equal[::-1]


def _gathered(
    equal: list[tuple[int, int]], old: int, new: int, shift: int
) -> Iterator[ChangedLines]:
    at_old = at_new = 0
    for x, y in [*equal, (old, new)]:
        if x > at_old or y > at_new:
            yield ChangedLines(at_old + shift, x + shift, at_new + shift, y + shift)
        at_old, at_new = x + 1, y + 1


def _hunks(found: list[ChangedLines]) -> Iterator[list[ChangedLines]]:
    hunk: list[ChangedLines] = []
    for change in found:
        if hunk and change.old_from - hunk[-1].old_to > 2 * CONTEXT:
            yield hunk
            hunk = []
        hunk.append(change)
    if hunk:
        yield hunk


def _span(start: int, end: int) -> str:
    count = end - start
    if count == 1:
        return str(start + 1)
    return f"{start + 1 if count else start},{count}"
