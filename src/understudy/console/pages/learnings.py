"""Learnings: the published ones, each with its lineage and the prompts it was injected into."""

from collections.abc import Mapping
from typing import Any, Final

from understudy.console.forms import NEVER, query_of
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
# The number of prompts that the page lists.
USES: Final = 20
# Page size of the list.
PAGE: Final = 50
# The editable fields; after a change, the query has their previous values for the undo.
CHANGED: Final = ("applies", "sensitivity", "expires_at_ms")
# The redirect after an operation that creates a learning.
TO_NEW: Final = "/learnings/{learning_id}"


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
        "undo": _undo(visit.query, lineage),
        "twin": ids,
    }


def _undo(query: Mapping[str, str], lineage: Mapping[str, Any]) -> dict[str, Any] | None:
    """The operation that undoes the last action; None if there was none or it cannot be undone."""
    record = lineage["learning"]
    here, ids = f"/learnings/{record['learning_id']}", {"learning_id": record["learning_id"]}
    is_live = "supersede" in record["actions"]
    match query.get("done"):
        case "changed" if is_live:
            values = {name: query[name] for name in CHANGED if name in query}
            now = {name: str(record.get(name) or NEVER) for name in values}
            if values == now:
                return None
            return _way_back("changed", "learnings.change", {**ids, **values}, here)
        case "superseded" if is_live and lineage["replaced"]:
            values = {**ids, "content": lineage["replaced"][0]["content"]}
            return _way_back("superseded", "learnings.supersede", values, TO_NEW)
        case "revoked" if record["status"] == "revoked" and _can_be_taught(record):
            values = {name: record[name] for name in ("content", "kind", "applies")}
            values |= {f"scope.{name}": record["scope"][name] for name in ("kind", "id")}
            values |= {"expires_at_ms": record.get("expires_at_ms")}
            return _way_back("revoked", "learnings.create", values, TO_NEW)
    return None


def _way_back(done: str, operation: str, values: dict[str, Any], to: str) -> dict[str, Any]:
    return {"done": done, "operation": operation, "values": values, "to": to}


def _can_be_taught(record: Mapping[str, Any]) -> bool:
    """Whether recreating it loses no restriction: its sensitivity and its untrusted source."""
    is_limited = record["sensitivity"] != "scoped" or record.get("derived_from_untrusted")
    return not is_limited and record["kind"] != "run_summary"


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
