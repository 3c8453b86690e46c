"""What agents are used to do, from one look to the next."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from understudy.evolution.usage_review import MOST_READ, PER_AGENT, Habits
from understudy.evolution.usage_rules import RepeatedSteps
from understudy.storage.evolution import SuggestionStore

REPORT = ("list_files", "read_file", "shell", "write_file", "send_mail")
OTHER = ("search_files", "edit_file", "probe", "shell", "remember")


@dataclass
class Runs:
    """What runs of agents did, and which of them were read."""

    of: dict[str, dict[str, tuple[str, ...]]] = field(default_factory=dict)
    read: list[str] = field(default_factory=list)

    def add(self, agent_id: str, *tools: tuple[str, ...]) -> None:
        own = self.of.setdefault(agent_id, {})
        own.update({f"{agent_id}-{len(own) + at}": each for at, each in enumerate(tools)})

    def tool_runs(self, *, since_ms: int, per_agent: int) -> Mapping[str, tuple[str, ...]]:
        assert (since_ms, per_agent) == (7, PER_AGENT)
        return {agent_id: tuple(runs) for agent_id, runs in self.of.items()}

    def tools_of(self, run_ids: Sequence[str]) -> Mapping[str, tuple[str, ...]]:
        self.read += run_ids
        every = {run_id: tools for runs in self.of.values() for run_id, tools in runs.items()}
        return {run_id: every[run_id] for run_id in run_ids}


def look(habits: Habits, runs: Runs) -> tuple[RepeatedSteps, ...]:
    return habits.look(cast("SuggestionStore", runs), since_ms=7)


def test_each_run_is_read_once() -> None:
    habits, runs = Habits(), Runs()
    runs.add("clerk", REPORT, REPORT)
    assert look(habits, runs) == ()

    runs.add("clerk", REPORT)
    [found] = look(habits, runs)

    assert (found.agent_id, found.steps) == ("clerk", REPORT)
    assert runs.read == ["clerk-0", "clerk-1", "clerk-2"]


def test_only_an_agent_that_has_run_is_looked_at_anew() -> None:
    habits, runs = Habits(), Runs()
    runs.add("clerk", REPORT, REPORT, REPORT)
    runs.add("scout", OTHER, OTHER, OTHER)
    before = look(habits, runs)

    runs.add("scout", OTHER)
    clerk, scout = look(habits, runs)

    assert clerk is before[0]
    assert len(scout.run_ids) == 4


def test_what_is_over_is_forgotten() -> None:
    habits, runs = Habits(), Runs()
    runs.add("clerk", REPORT, REPORT, REPORT)
    look(habits, runs)

    del runs.of["clerk"]["clerk-0"]
    assert look(habits, runs) == ()
    del runs.of["clerk"]
    assert look(habits, runs) == ()
    assert (habits._tools, habits._found) == ({}, {})


def test_a_look_reads_only_so_much_and_the_next_goes_on() -> None:
    habits, runs = Habits(), Runs()
    runs.add("a-talker", *[("shell",)] * (MOST_READ - 1))
    runs.add("clerk", REPORT, REPORT, REPORT)

    assert look(habits, runs) == ()
    assert len(runs.read) == MOST_READ
    assert [each.agent_id for each in look(habits, runs)] == ["clerk"]
    assert len(runs.read) == len(set(runs.read)) == MOST_READ + 2
