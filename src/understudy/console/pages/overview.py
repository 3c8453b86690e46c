"""The overview, and where the console begins."""

from typing import Any, Final

from understudy.console.page import ConsolePage
from understudy.console.visits import Visit


async def _front(visit: Visit) -> str:
    """The review page when something waits, else the overview."""
    waiting = await visit.call("inbox.list", limit=1)
    return "/review" if waiting["items"] else "/overview"


async def _overview(visit: Visit) -> dict[str, Any]:
    return {
        "status": await visit.call("status.read"),
        "runs": (await visit.call("runs.list", limit=8))["items"],
        "twin": {},
    }


PAGES: Final = (
    ConsolePage(
        path="/", name="overview", template="overview.html", twin="status.read", load=_front
    ),
    ConsolePage(
        path="/overview",
        name="overview",
        template="overview.html",
        twin="status.read",
        load=_overview,
    ),
)
