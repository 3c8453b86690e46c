"""Steps that an agent takes again and again: the same tools, one after the other, in several runs."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

# What a sequence must have to be worth a skill; a task of fewer calls is quickly done anew.
MIN_RUNS: Final = 3
MIN_CALLS: Final = 5
MIN_STEPS: Final = 3
MIN_TOOLS: Final = 2
MAX_STEPS: Final = 8
# How far a run is read, and how many sequences are told of for one agent.
MAX_READ: Final = 100
MOST: Final = 2

Steps = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunTools:
    """The tools that a run called, in order."""

    run_id: str
    agent_id: str
    tools: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeated:
    """The same steps in several runs of an agent."""

    agent_id: str
    steps: Steps
    run_ids: tuple[str, ...]

    @property
    def work(self) -> int:
        """How many steps those runs took for it."""
        return len(self.steps) * len(self.run_ids)


def repeated(runs: Iterable[RunTools]) -> tuple[Repeated, ...]:
    """What agents do again and again, for each the longest that most of its runs share."""
    by_agent: dict[str, list[RunTools]] = defaultdict(list)
    for run in runs:
        by_agent[run.agent_id].append(run)
    return tuple(found for agent_id in sorted(by_agent) for found in _of_agent(by_agent[agent_id]))


def overlap(one: Steps, other: Steps) -> bool:
    """Whether two sequences have so many steps in a row in common that they are about the same."""
    return not _pieces(one).isdisjoint(_pieces(other))


def _pieces(steps: Steps) -> frozenset[Steps]:
    return frozenset(steps[at : at + MIN_STEPS] for at in range(len(steps) - MIN_STEPS + 1))


def _of_agent(runs: Sequence[RunTools]) -> Iterator[Repeated]:
    shared = {steps: run_ids for steps, run_ids in _found(runs).items() if len(run_ids) >= MIN_RUNS}
    # The most work saved first; by their names where that is the same, or every look would differ.
    ranked = sorted(shared, key=lambda steps: (-len(steps) * len(shared[steps]), steps))
    told: list[Steps] = []
    for steps in ranked:
        if len(told) == MOST:
            return
        if not any(overlap(steps, each) for each in told):
            told.append(steps)
            yield Repeated(
                agent_id=runs[0].agent_id, steps=steps, run_ids=tuple(dict.fromkeys(shared[steps]))
            )


def _found(runs: Sequence[RunTools]) -> Mapping[Steps, list[str]]:
    """Every sequence that is long enough, with the runs that it is in."""
    found: dict[Steps, list[str]] = defaultdict(list)
    for run in runs:
        for steps in set(_sequences(run.tools)):
            found[steps].append(run.run_id)
    return found


def _sequences(tools: Sequence[str]) -> Iterator[Steps]:
    # How often a step is repeated depends on the input, so it does not count.
    groups = [(name, len(list(same))) for name, same in groupby(tools[:MAX_READ])]
    for start in range(len(groups)):
        for end in range(start + MIN_STEPS, min(start + MAX_STEPS, len(groups)) + 1):
            part = groups[start:end]
            steps = tuple(name for name, _ in part)
            calls = sum(count for _, count in part)
            if calls >= MIN_CALLS and len(set(steps)) >= MIN_TOOLS:
                yield steps
