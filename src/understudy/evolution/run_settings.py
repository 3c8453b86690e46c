"""Settings fixed when a run starts: switches, locale, whether a user can answer, SOUL.md version."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from understudy.agents.model import SOUL, ContextFile
from understudy.agents.switches import Switches, switches_in
from understudy.i18n.locales import DEFAULT, locale_of
from understudy.runs.lifecycle import TERMINAL
from understudy.runs.model import TRIAL_SOURCE, Run, RunKind
from understudy.runs.snapshot import RunReports
from understudy.sessions.model import Session

if TYPE_CHECKING:
    from understudy.storage.unit import Unit

# Runs that begin with what a person typed.
ASKED_BY_PEOPLE: Final = frozenset(
    {RunKind.INPUT, RunKind.APPROVAL_RESUME, RunKind.USER_QUESTION_RESUME}
)
# Callers that say of themselves that no person sits there.
UNATTENDED: Final = frozenset(
    {"cron", "heartbeat", "schedule", "subagent", "sub-agent", "sub_agent", TRIAL_SOURCE}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSettings:
    """What a run goes by to its end, whatever is changed meanwhile."""

    switches: Switches = field(default_factory=Switches)
    locale: str = DEFAULT
    is_interactive: bool = False
    # The version of the agent's SOUL.md that it began with, 0 for none; None: nobody wrote it down.
    soul_version: int | None = None

    def record(self) -> dict[str, Any]:
        """As the snapshot of the run keeps it."""
        return {
            "self_evolve": self.switches.self_evolve,
            "skill_evolve": self.switches.skill_evolve,
            "skill_nudge_interval": self.switches.skill_nudge_interval,
            "locale": self.locale,
            "is_interactive": self.is_interactive,
            "soul_version": self.soul_version,
        }


def settings_in(reports: RunReports) -> RunSettings:
    """What the snapshot of a run says; one that says nothing, or nonsense, switches nothing on."""
    kept = reports.evolution or {}
    locale, version = kept.get("locale"), kept.get("soul_version")
    return RunSettings(
        switches=switches_in(kept),
        locale=locale_of(locale if isinstance(locale, str) else None),
        is_interactive=kept.get("is_interactive") is True,
        soul_version=version if type(version) is int else None,
    )


def is_interactive(run: Run, session: Session) -> bool:
    """Whether a person typed the input and can answer: at the top, and not by the clock or by mail."""
    return (
        run.kind in ASKED_BY_PEOPLE
        and session.parent_session_id is None
        and run.trial_id is None
        and run.request.source_kind.strip().casefold() not in UNATTENDED
    )


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
