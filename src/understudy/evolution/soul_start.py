"""What SOUL.md was when the work at hand began: what a run changes of it is measured by that."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from understudy.agents.model import SOUL, ContextFile
from understudy.evolution.run_settings import settings_in
from understudy.runs.lifecycle import TERMINAL
from understudy.runs.model import Run

if TYPE_CHECKING:
    from understudy.storage.unit import Unit


def soul_version_in(files: Sequence[ContextFile]) -> int:
    """Which version of the soul that all users share a prompt shows; 0 where there is none."""
    shared = (file for file in files if file.name == SOUL and file.user_id is None)
    return next((file.version for file in shared), 0)


def soul_at_start(unit: "Unit", run_id: str) -> str | None:
    """Its text when a run began, or the run of the same agent that it works for; None without one.

    Otherwise a run could have its sidechains do what it may not do itself.
    """
    runs = list(_lineage(unit, run_id))
    own = [run for run in runs if run.agent_id == runs[0].agent_id]
    if not own:
        return None
    version = settings_in(unit.runs.reports(own[-1].run_id)).soul_version
    file = unit.agents.file(own[-1].agent_id, SOUL, version=version) if version else None
    return None if file is None else file.content


def _lineage(unit: "Unit", run_id: str) -> Iterator[Run]:
    """A run and those that it works for, as long as they are at work; from the inside out."""
    run = unit.runs.get(run_id)
    while run is not None and run.status not in TERMINAL:
        yield run
        spawn = unit.sidechains.spawn_of(run.session_id)
        run = None if spawn is None else unit.runs.get(spawn.run_id)
