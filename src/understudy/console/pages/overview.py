"""The overview: what waits for a person, recent activity, and the first steps in an empty home."""

import asyncio
import sys
from typing import Any, Final

from understudy.console.charts import stacked
from understudy.console.page import ConsolePage
from understudy.console.visits import Visit
from understudy.settings.program import program_name, url_option

LATEST: Final = 8
RUNS: Final = {"completed": "good", "open": "busy", "stopped": "6", "failed": "bad"}
DECISIONS: Final = {"published": "good", "rejected": "bad", "expired": "6"}
TOLD: Final = {"helped_runs": "good", "other_runs": "look"}


async def _front(visit: Visit) -> str:
    """The path of the review page when the inbox has items, else of the overview."""
    waiting = await visit.call("inbox.list", limit=1)
    return "/review" if waiting["items"] else "/overview"


async def _overview(visit: Visit) -> dict[str, Any]:
    overview, status, inbox, sample, runs, changes = await asyncio.gather(
        visit.call("overview.read", days=visit.query.get("days")),
        visit.call("status.read"),
        visit.call("inbox.list", limit=1),
        visit.call("sample.read"),
        visit.call("runs.list", limit=LATEST),
        visit.call("audit.list", limit=LATEST),
    )
    # What nobody decided in time counts as rejected, too.
    decided = [
        {**day, "rejected": day["rejected"] - day["expired"]} for day in overview["learning"]
    ]
    told = [
        {**day, "other_runs": day["told_runs"] - day["helped_runs"]} for day in overview["learning"]
    ]
    is_absent = sample["state"] == "absent"
    loads = await visit.call("audit.list", resource="sample", limit=1) if is_absent else {}
    return {
        "overview": overview,
        "status": status,
        "inbox": inbox["counts"],
        "sample": sample,
        "runs": runs["items"],
        "changes": changes["items"],
        "is_new": not sum(status["runs"].values()),
        # Nobody has loaded it yet.
        "offers_sample": is_absent and not loads["items"],
        "program": program_name(sys.argv[0]),
        "at": url_option(str(visit.request.base_url).rstrip("/")),
        "charts": {
            "runs": stacked(overview["runs"], RUNS),
            "decisions": stacked(decided, DECISIONS),
            "told": stacked(told, TOLD),
        },
        "agreed": agreement_of(overview["learning"]),
        "cost": _cost(overview["usage"]),
        "routes": _routes(status, overview["usage"]),
        "warnings": [each for each in status["health"]["warnings"] if each["severity"] != "info"],
        "twin": {key: value for key, value in visit.query.items() if key == "days"},
    }


def agreement_of(days: list[dict[str, Any]]) -> tuple[int, int]:
    """The number of human decisions that automation agrees with, and the number compared."""
    agreed = sum(day["agreed"] for day in days)
    return agreed, agreed + sum(day["disagreed"] for day in days)


def _cost(usage: list[dict[str, Any]]) -> float | None:
    """The total cost of the usage that has a price; None if none has."""
    known = [each["cost_usd"] for each in usage if "cost_usd" in each]
    return sum(known) if known else None


def _routes(status: dict[str, Any], usage: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Each route: whether it is ready, and how its runs ended."""
    known = {each["route_id"]: each for each in status["provider_readiness"]}
    return [
        {
            "route_id": route_id,
            "ready": known.get(route_id, {}).get("ready", True),
            "reason": known.get(route_id, {}).get("reason"),
            "runs": sum(each["runs"] for each in usage if each["route_id"] == route_id),
            "failed_runs": sum(
                each["failed_runs"] for each in usage if each["route_id"] == route_id
            ),
        }
        for route_id in dict.fromkeys((*known, *(each["route_id"] for each in usage)))
    ]


PAGES: Final = (
    ConsolePage(
        path="/", name="overview", template="overview.html", twin="overview.read", load=_front
    ),
    ConsolePage(
        path="/overview",
        name="overview",
        template="overview.html",
        twin="overview.read",
        load=_overview,
    ),
)
