"""The daemon: its status, the audit, tokens and signing keys."""

from typing import Any, Final

from understudy.console.page import ConsolePage
from understudy.console.visits import Visit

# The pages of the resources that the audit names.
RESOURCES: Final = {
    "agents": "/agents/{}",
    "learning_candidates": "/review/{}",
    "learnings": "/learnings/{}",
    "flows": "/flows/{}",
    "projects": "/projects/{}",
    "rollouts": "/rollouts/{}",
    "runs": "/runs/{}",
    "schedules": "/schedules/{}",
    "sessions": "/sessions/{}",
    "skills": "/skills/{}",
}
SEVERITIES: Final = ("error", "warning", "info")


async def _status(visit: Visit) -> dict[str, Any]:
    """The status of the daemon, its warnings, and the settings for callers who may read them."""
    status = await visit.call("status.read")
    may_see = visit.may("settings.read")
    return {
        "status": status,
        "checks": sorted(
            status["health"]["warnings"], key=lambda each: SEVERITIES.index(each["severity"])
        ),
        "in_force": await visit.call("settings.read") if may_see else None,
        "twin": {},
    }


async def _audit(visit: Visit) -> dict[str, Any]:
    page = await visit.call("audit.list", **{"limit": 50, **visit.query})
    return {
        "items": page["items"],
        "next": page.get("next_cursor"),
        "filters": await visit.filters("audit.list"),
        "pages": RESOURCES,
    }


async def _access(visit: Visit) -> dict[str, Any]:
    page = await visit.call("tokens.list", **{"limit": 50, **visit.query})
    keys = await visit.call("keys.list", limit=200)
    return {"items": page["items"], "next": page.get("next_cursor"), "keys": keys["items"]}


PAGES: Final = (
    ConsolePage(
        path="/status", name="status", template="status.html", twin="status.read", load=_status
    ),
    ConsolePage(path="/audit", name="audit", template="audit.html", twin="audit.list", load=_audit),
    ConsolePage(
        path="/access", name="access", template="access.html", twin="tokens.list", load=_access
    ),
)
