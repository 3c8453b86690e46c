"""When the learnings end that skills were promoted from: a skill does not outlast its learning."""

from collections.abc import Mapping
from typing import Protocol

from understudy.core.clock import Clock
from understudy.rollout.model import Rollout


class SourceStore(Protocol):
    """What the learnings beneath live rollouts say of their time."""

    def ends(self) -> Mapping[str, int | None]:
        """When each of them ends, by the learning's id; None where nobody said."""
        ...

    def end_of(self, learning_id: str) -> int | None:
        """When one of them ends; None where nobody said."""
        ...

    def ending(self, *, until_ms: int, limit: int) -> tuple[tuple[str, int], ...]:
        """The names of live rollouts whose learning ends by then, each with when; the first first."""
        ...

    def ended(self, *, now_ms: int, limit: int) -> tuple[tuple[str, str], ...]:
        """Live rollouts whose learning is past its time: their names, each with the learning's id."""
        ...


class HasSources(Protocol):
    """A unit of work that knows them."""

    @property
    def rollout_sources(self) -> SourceStore: ...


class SourceEnds:
    """Knows at once whether a learning's time is over; it is said once and never changed."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._ends: Mapping[str, int | None] = {}

    def is_over(self, unit: HasSources, rollout: Rollout) -> bool:
        """Whether a skill may no longer be used, though nobody has taken it back yet."""
        source = rollout.source_learning_id
        if source not in self._ends:
            self._ends = unit.rollout_sources.ends()
        ends_at = self._ends.get(source)
        return ends_at is not None and ends_at <= self._clock.now_ms()
