"""Sessions: the conversation, and what waits in it."""

from typing import Any, Final

from understudy.console.conversation import turns_of
from understudy.console.page import Listing
from understudy.console.visits import Visit

# The end of a journal that a page shows.
JOURNAL_EVENTS: Final = 200


async def _session(visit: Visit) -> dict[str, Any]:
    """The conversation: the end of the journal, which may be long."""
    ids = {"session_id": visit.request.path_params["id"]}
    record = await visit.call("sessions.get", **ids)
    after = max(record["snapshot"]["journal_length"] - JOURNAL_EVENTS, 0)
    journal = await visit.call("sessions.events", **ids, after=after, limit=JOURNAL_EVENTS)
    turns = turns_of(journal["items"])
    return {
        "record": record,
        "turns": turns,
        "is_cut": after > 0,
        "twin": ids,
        "waiting": await waiting_in(visit, **ids),
    }


async def waiting_in(visit: Visit, **ids: str) -> dict[str, Any]:
    """The approvals and questions of a session or a run that wait for somebody."""
    return {
        "approvals": (await visit.call("approvals.list", **ids))["items"],
        "questions": (await visit.call("questions.list", **ids))["items"],
    }


PAGES: Final = Listing(
    name="sessions",
    all="sessions.list",
    one="sessions.get",
    key="session_id",
    columns=("session_id", "agent_id", "thread_id", "created_at_ms", "updated_at_ms"),
    title="session_id",
    template="session.html",
    load=_session,
).pages()
