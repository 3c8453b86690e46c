"""What agents do again and again, looked at anew only where an agent has run since."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Final

from understudy.evolution.sequences import Repeated, RunTools, repeated

if TYPE_CHECKING:
    from understudy.storage.evolution import SuggestionStore

# So many runs of an agent tell what it is used to do.
PER_AGENT: Final = 50
# So many runs are read at once; what tools answered is long. The rest is for the next look.
MOST_READ: Final = 500

RunIds = tuple[str, ...]


@dataclass(slots=True)
class Habits:
    """Remembers what runs did, as runs that have ended do not change."""

    _tools: dict[str, tuple[str, ...]] = field(default_factory=dict)
    _found: dict[str, tuple[RunIds, tuple[Repeated, ...]]] = field(default_factory=dict)

    def look(self, store: "SuggestionStore", *, since_ms: int) -> tuple[Repeated, ...]:
        """The steps that runs of an agent share since then, of all agents."""
        recent = store.tool_runs(since_ms=since_ms, per_agent=PER_AGENT)
        self._read(store, recent)
        self._found = {agent_id: self._of(agent_id, runs) for agent_id, runs in recent.items()}
        return tuple(each for _, found in self._found.values() for each in found)

    def _read(self, store: "SuggestionStore", recent: Mapping[str, RunIds]) -> None:
        run_ids = [run_id for runs in recent.values() for run_id in runs]
        unknown = islice((run_id for run_id in run_ids if run_id not in self._tools), MOST_READ)
        known = {**self._tools, **store.tools_of(tuple(unknown))}
        self._tools = {run_id: known[run_id] for run_id in run_ids if run_id in known}

    def _of(self, agent_id: str, run_ids: RunIds) -> tuple[RunIds, tuple[Repeated, ...]]:
        read = tuple(run_id for run_id in run_ids if run_id in self._tools)
        before = self._found.get(agent_id)
        if before is not None and before[0] == read:
            return before
        runs = (
            RunTools(run_id=run_id, agent_id=agent_id, tools=self._tools[run_id]) for run_id in read
        )
        return read, repeated(runs)
