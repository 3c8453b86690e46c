"""Settings fixed when a run starts: switches, locale, whether a user can answer, SOUL.md version."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from understudy.agents.model import SOUL, ContextFile
from understudy.agents.switches import Switches, switches_in
from understudy.i18n.locales import DEFAULT, locale_of
from understudy.runs.lifecycle import TERMINAL
from understudy.runs.model import TRIAL_SOURCE, Run, RunKind, RunReports
from understudy.sessions.model import Session

if TYPE_CHECKING:
    from understudy.storage.unit import Unit

# Kinds of runs that start with a message of a person.
ASKED_BY_PEOPLE: Final = frozenset(
    {RunKind.INPUT, RunKind.APPROVAL_RESUME, RunKind.USER_QUESTION_RESUME}
)
# Source kinds of callers without a person.
UNATTENDED: Final = frozenset(
    {"cron", "heartbeat", "schedule", "subagent", "sub-agent", "sub_agent", TRIAL_SOURCE}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSettings:
    """The settings of a run, fixed from its start to its end."""

    switches: Switches = field(default_factory=Switches)
    locale: str = DEFAULT
    is_interactive: bool = False
    # The version of the agent's SOUL.md at the start, 0 for none; None: not recorded.
    soul_version: int | None = None

    def record(self) -> dict[str, Any]:
        """The settings as JSON for the snapshot of the run."""
        return {
            "self_evolve": self.switches.self_evolve,
            "skill_evolve": self.switches.skill_evolve,
            "skill_nudge_interval": self.switches.skill_nudge_interval,
            "locale": self.locale,
            "is_interactive": self.is_interactive,
            "soul_version": self.soul_version,
        }


def settings_in(reports: RunReports) -> RunSettings:
    """The settings in the snapshot of a run; missing or invalid values switch nothing on."""
    kept = reports.evolution or {}
    locale, version = kept.get("locale"), kept.get("soul_version")
    return RunSettings(
        switches=switches_in(kept),
        locale=locale_of(locale if isinstance(locale, str) else None),
        is_interactive=kept.get("is_interactive") is True,
        soul_version=version if type(version) is int else None,
    )


def is_interactive(run: Run, session: Session) -> bool:
    """Whether a person typed the input and can answer: a top-level run, not from a schedule or mail."""
    return (
        run.kind in ASKED_BY_PEOPLE
        and session.parent_session_id is None
        and run.trial_id is None
        and run.request.source_kind.strip().casefold() not in UNATTENDED
    )


def soul_version_in(files: Sequence[ContextFile]) -> int:
    """The version of the shared SOUL.md in a prompt; 0 without one."""
    shared = (file for file in files if file.name == SOUL and file.user_id is None)
    return next((file.version for file in shared), 0)


def soul_at_start(unit: "Unit", run_id: str) -> str | None:
    """The text of SOUL.md at the start of a run, or of the outermost run of the same agent it works for.

    Otherwise a run could use sidechains to change more than it may itself.
    """
    runs = list(_lineage(unit, run_id))
    own = [run for run in runs if run.agent_id == runs[0].agent_id]
    if not own:
        return None
    version = settings_in(unit.runs.reports(own[-1].run_id)).soul_version
    file = unit.agents.file(own[-1].agent_id, SOUL, version=version) if version else None
    return None if file is None else file.content


def _lineage(unit: "Unit", run_id: str) -> Iterator[Run]:
    """A run and the parent runs that it works for, while they are not over; innermost first."""
    run = unit.runs.get(run_id)
    while run is not None and run.status not in TERMINAL:
        yield run
        spawn = unit.sidechains.spawn_of(run.session_id)
        run = None if spawn is None else unit.runs.get(spawn.run_id)
