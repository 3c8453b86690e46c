"""What holds for one run, fixed when it starts: switches, language, and whether somebody can answer."""

from dataclasses import dataclass, field
from typing import Any, Final

from understudy.agents.switches import Switches, switches_in
from understudy.i18n.locales import DEFAULT, locale_of
from understudy.runs.model import TRIAL_SOURCE, Run, RunKind
from understudy.runs.snapshot import RunReports
from understudy.sessions.model import Session

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
