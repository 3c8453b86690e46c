"""Search: quick navigation to any page or record, with or without the dialog."""

from itertools import groupby
from typing import Any, Final

from understudy.console.page import ConsolePage
from understudy.console.visits import Visit

# The page path of each kind of record.
PLACES: Final = {
    "agent": "/agents/{}",
    "session": "/sessions/{}",
    "skill": "/skills/{}",
    "learning": "/learnings/{}",
    "candidate": "/review/{}",
    "run": "/runs/{}",
}


async def _search(visit: Visit) -> dict[str, Any]:
    query = visit.query.get("query", "")
    found = await visit.call("search.find", query=query)
    groups = [(kind, list(items)) for kind, items in groupby(found["items"], _kind)]
    return {"query": query, "groups": groups, "places": PLACES, "twin": {"query": query}}


def _kind(item: dict[str, Any]) -> str:
    return str(item["kind"])


PAGES: Final = (
    ConsolePage(
        path="/search", name="search", template="search.html", twin="search.find", load=_search
    ),
)
