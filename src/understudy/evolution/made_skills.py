"""Whether a run has made a skill, as its journal tells."""

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from understudy.evolution.acts import MANAGE, PUBLISH
from understudy.runs.steps import Steps
from understudy.sessions.journal import EventKind, JournalEvent

# The tools that can make one, and whether a call with these arguments does.
MAKERS: Final[Mapping[str, Callable[[Mapping[str, Any]], bool]]] = {
    MANAGE: lambda arguments: arguments.get("action") == "create",
    PUBLISH: lambda _: True,
}


def made_skill(steps: Steps) -> bool:
    """Whether one of the calls of a run made a skill."""
    events = steps.done.values()
    made = {_place(event) for event in events if _succeeded(event)}
    return any(_place(event) in made and _makes(event) for event in _calls(events))


def _succeeded(event: JournalEvent) -> bool:
    return (
        event.kind is EventKind.TOOL_RESULT
        and event.data.get("name") in MAKERS
        and event.data.get("status") == "ok"
    )


def _calls(events: Iterable[JournalEvent]) -> Iterable[JournalEvent]:
    return (event for event in events if event.kind is EventKind.TOOL_CALL)


def _place(event: JournalEvent) -> tuple[object, object]:
    # Some servers hand out the same call ids again in every reply, so the step counts too.
    return event.data.get("step"), event.data.get("call_id")


def _makes(call: JournalEvent) -> bool:
    try:
        arguments = json.loads(str(call.data.get("arguments")) or "{}")
    except ValueError:
        return False
    makes = MAKERS.get(str(call.data.get("name")))
    return makes is not None and isinstance(arguments, Mapping) and makes(arguments)
