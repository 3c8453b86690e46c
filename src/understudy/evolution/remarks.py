"""What is said to a model or below its reply beside the conversation, and that it was said."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from understudy.runs.model import Run
from understudy.runs.steps import Also
from understudy.sessions.journal import EventKind, NewEvent

RemarkName = Literal["70", "90", "postscript"]
POSTSCRIPT: Final = "postscript"


@dataclass(frozen=True, slots=True, kw_only=True)
class Briefing:
    """What the prompt of a run says of evolving, and what its snapshot keeps of that."""

    self_evolution: str = ""
    # Stands below what is told of skills.
    skill_creation: str = ""
    record: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """Words, the event that tells that they were said, and what else is written with it."""

    text: str
    event: NewEvent
    also: Also | None = None
    # Where the model's own words end in the reply that the remark stands below.
    own_chars: int | None = None


def remark_key(run_id: str, name: RemarkName) -> str:
    """Names a remark among the steps of a run: each is made once."""
    return f"{run_id}:nudge:{name}"


def remark_event(run: Run, name: RemarkName, *, step: int) -> NewEvent:
    """The event that tells which remark was made, and never its words."""
    return NewEvent(
        kind=EventKind.NUDGE,
        run_id=run.run_id,
        key=remark_key(run.run_id, name),
        data={"nudge": name, "step": step, "agent_id": run.agent_id, "locale": run.locale},
    )
