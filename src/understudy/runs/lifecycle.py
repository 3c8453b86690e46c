"""The state machine of a run, and the journal events of its life."""

from collections.abc import Mapping
from typing import Any, Final

from understudy.core.machine import Machine
from understudy.runs.model import Run, RunKind, RunStatus
from understudy.sessions.journal import EventKind, NewEvent, caller_metadata

_S = RunStatus
RUN: Final = Machine(
    name="run",
    domain="runs",
    conflict_code="run_state_conflict",
    steps={
        _S.QUEUED: frozenset({_S.RUNNING, _S.FAILED, _S.CANCELLED}),
        _S.RUNNING: frozenset(
            {
                _S.WAITING_FOR_APPROVAL,
                _S.WAITING_FOR_USER_QUESTION,
                _S.COMPLETED,
                _S.FAILED,
                _S.INTERRUPTED,
                _S.CANCELLED,
            }
        ),
        _S.WAITING_FOR_APPROVAL: frozenset({_S.RUNNING, _S.FAILED, _S.INTERRUPTED, _S.CANCELLED}),
        _S.WAITING_FOR_USER_QUESTION: frozenset(
            {_S.RUNNING, _S.COMPLETED, _S.FAILED, _S.INTERRUPTED, _S.CANCELLED}
        ),
        _S.COMPLETED: frozenset(),
        _S.FAILED: frozenset(),
        _S.INTERRUPTED: frozenset(),
        _S.CANCELLED: frozenset(),
    },
)
TERMINAL: Final = RUN.terminal
WAITING: Final = frozenset({_S.WAITING_FOR_APPROVAL, _S.WAITING_FOR_USER_QUESTION})
ACTIVE: Final = frozenset({_S.RUNNING}) | WAITING
# The event type for each status; other events are appended where they happen.
STATUS_EVENTS: Mapping[RunStatus, str] = {
    RunStatus.RUNNING: "started",
    RunStatus.WAITING_FOR_APPROVAL: "waiting_for_approval",
    RunStatus.WAITING_FOR_USER_QUESTION: "waiting_for_user_question",
    RunStatus.COMPLETED: "completed",
    RunStatus.FAILED: "failed",
    RunStatus.INTERRUPTED: "interrupted",
    RunStatus.CANCELLED: "cancelled",
}
# What a run is resumed for, by the last of these events; it goes on itself, no other run is made.
RESUMES: Final[Mapping[str, RunKind | None]] = {
    STATUS_EVENTS[RunStatus.RUNNING]: None,
    "resumed": None,
    STATUS_EVENTS[RunStatus.WAITING_FOR_APPROVAL]: RunKind.APPROVAL_RESUME,
    STATUS_EVENTS[RunStatus.WAITING_FOR_USER_QUESTION]: RunKind.USER_QUESTION_RESUME,
}
ITEM_FIELDS: Final = ("type", "text", "asset_id", "media_type", "size")


def run_event(run: Run, what: str, status: RunStatus, **more: Any) -> NewEvent:
    """An event in the life of a run; each occurs at most once, except `resumed`."""
    return NewEvent(
        kind=EventKind.RUN,
        run_id=run.run_id,
        data={"type": what, "status": str(status), "agent_id": run.agent_id, **more},
    )


def status_event(run: Run, **more: Any) -> NewEvent:
    """The event that reports the current status of a run."""
    return run_event(run, STATUS_EVENTS[run.status], run.status, **more)


def input_event(run: Run) -> NewEvent:
    """The input event of a run, with asset ids and never paths."""
    items = [
        {name: value for name in ITEM_FIELDS if (value := getattr(item, name))}
        for item in run.input.items
    ]
    data: dict[str, Any] = {"items": items, "user_id": run.user_id}
    # The daemon's own metadata is shown on the run, and is in no prompt.
    if metadata := caller_metadata(run.input.metadata):
        data["metadata"] = dict(metadata)
    return NewEvent(kind=EventKind.INPUT, run_id=run.run_id, data=data)
