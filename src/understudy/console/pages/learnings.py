"""Learnings: what was published, where it came from, and which prompts were told."""

from typing import Any, Final

from understudy.console.forms import query_of
from understudy.console.lineage_graph import graph_of
from understudy.console.page import ConsolePage
from understudy.console.visits import Visit

COLUMNS: Final = (
    "content",
    "kind",
    "scope",
    "status",
    "applies",
    "verification_status",
    "published_at_ms",
)
# Filters that few people need.
SELDOM: Final = ("scope_id", "policy_decision", "policy_actor", "matched_rule_name")
# As many prompts as the page lists.
USES: Final = 20
# What a page lists at once.
PAGE: Final = 50


async def _learnings(visit: Visit) -> dict[str, Any]:
    filters = [it for it in await visit.filters("learnings.list") if it.name != "newest"]
    asked = {"newest": "true", "limit": PAGE, **query_of(visit.query, filters)}
    page = await visit.call("learnings.list", **asked)
    return {
        "items": page["items"],
        "next": page.get("next_cursor"),
        "columns": COLUMNS,
        "seldom": SELDOM,
        "filters": filters,
        "twin": asked,
    }


async def _learning(visit: Visit) -> dict[str, Any]:
    ids = {"learning_id": visit.request.path_params["id"]}
    lineage = await visit.call("learnings.lineage", limit=USES, **ids)
    return {
        "record": lineage["learning"],
        "lineage": lineage,
        "graph": graph_of(lineage),
        "twin": ids,
    }


PAGES: Final = (
    ConsolePage(
        path="/learnings",
        name="learnings",
        template="learnings.html",
        twin="learnings.list",
        load=_learnings,
    ),
    ConsolePage(
        path="/learnings/{id}",
        name="learnings",
        template="learning.html",
        twin="learnings.lineage",
        load=_learning,
    ),
)
