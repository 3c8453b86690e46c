"""The memory inspector: what a prompt would be told, and why."""

from typing import Any, Final

from understudy.console.page import ConsolePage
from understudy.console.visits import Visit


async def _memory(visit: Visit) -> dict[str, Any]:
    """What a prompt would be told in a session for an input, and why."""
    sessions = (await visit.call("sessions.list", limit=50))["items"]
    chosen = visit.query.get("session_id") or (sessions[0]["session_id"] if sessions else None)
    if chosen is None:
        return {"sessions": (), "twin_operation": "sessions.list", "twin": {}}
    asked = {"session_id": chosen, "query": visit.query.get("query", "")}
    return {
        "sessions": sessions,
        "chosen": chosen,
        "explained": await visit.call("sessions.memory_explain", **asked),
        "twin": asked,
    }


PAGES: Final = (
    ConsolePage(
        path="/memory",
        name="memory",
        template="memory.html",
        twin="sessions.memory_explain",
        load=_memory,
    ),
)
