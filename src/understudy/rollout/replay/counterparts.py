"""Which recorded run a run of a replay repeats: that of its case, or a sidechain of that one."""

from typing import TYPE_CHECKING

from understudy.runs.model import Run
from understudy.sessions.sidechains import Spawn, spawns_of

if TYPE_CHECKING:
    from understudy.storage.unit import Unit


def recorded_for(unit: "Unit", run: Run) -> str | None:
    """The run that holds what a run of a replay was told then; None where that is not clear.

    A sidechain repeats the one of the same label that the recorded run made, if it made just one;
    a second one of that label repeats nothing.
    """
    case = unit.replay_cases.of_run(run.run_id)
    if case is not None:
        return case.recorded_run_id
    spawn = unit.sidechains.spawn_of(run.session_id)
    if spawn is None or spawn.first_run_id != run.run_id:
        return None
    # Sessions go only a few levels deep.
    above = unit.runs.get(spawn.run_id)
    recorded = None if above is None else recorded_for(unit, above)
    if recorded is None:
        return None
    mine, theirs = _alike(unit, spawn.run_id, spawn), _alike(unit, recorded, spawn)
    is_clear = len(theirs) == 1 and mine[0].session_id == spawn.session_id
    return theirs[0].first_run_id if is_clear else None


def _alike(unit: "Unit", run_id: str, like: Spawn) -> list[Spawn]:
    """The sidechains of one label that a run made, oldest first."""
    alike = [spawn for spawn in spawns_of(unit, run_id) if spawn.label == like.label]
    # Of those of one moment the ids of runs tell which came first; those of sessions do not.
    return sorted(alike, key=lambda spawn: (spawn.created_at_ms, spawn.first_run_id))
