"""What the sessions concerned are told of rollouts: names, stages and ids, and never their words."""

from typing import TYPE_CHECKING

from understudy.core.errors import DamagedRecord
from understudy.learnings.events import Told
from understudy.rollout.model import LifecycleEvent, Rollout
from understudy.sessions.journal import EventKind, NewEvent

if TYPE_CHECKING:
    from understudy.storage.unit import Unit


def told_of(unit: "Unit", rollout: Rollout, happened: LifecycleEvent) -> Told:
    """The event, for the session that the procedure was learned in and that of the run it is about."""
    data = {
        "what": f"rollout_{happened.event}".replace("rollout_rollout_", "rollout_"),
        "learning_id": rollout.source_learning_id,
        "skill_name": rollout.skill_name,
        "status": str(rollout.status),
        "run_id": happened.run_id,
    }
    sessions = {_source_session(unit, rollout.source_learning_id), happened.session_id}
    return Told(
        session_ids=frozenset(filter(None, sessions)),
        event=NewEvent(
            kind=EventKind.LEARNING,
            data={name: value for name, value in data.items() if value is not None},
        ),
    )


def _source_session(unit: "Unit", learning_id: str) -> str | None:
    try:
        learning = unit.learnings.get(learning_id)
    except DamagedRecord:
        return None
    return None if learning is None else learning.source.session_id
