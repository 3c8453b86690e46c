"""`understudy status`: what the daemon is and does."""

from collections.abc import Mapping
from typing import Any

import typer

from understudy.cli import screen
from understudy.cli.connection import connect
from understudy.cli.screen import count


def status(ctx: typer.Context) -> None:
    """Show what the daemon is and does."""
    with connect(ctx) as daemon:
        view = daemon.client.status()
        daemon.show(lambda: screen.fields(_fields(daemon.client.url, view.model_dump())))


def _fields(url: str, view: Mapping[str, Any]) -> list[tuple[str, object]]:
    runs = {name: count for name, count in (view.get("runs") or {}).items() if count}
    counts = [f"{count} {name.replace('_', ' ')}" for name, count in runs.items()]
    warnings = (view.get("health") or {}).get("warnings") or []
    return [
        ("daemon", f"{view['status']} at {url}"),
        ("version", view.get("version")),
        ("process", view.get("process_id")),
        ("database", (view.get("storage") or {}).get("kind")),
        ("routes", [_route(route) for route in view.get("provider_readiness") or []]),
        ("sessions", (view.get("sessions") or {}).get("total")),
        ("runs", counts or "none yet"),
        ("learning", learning_words(view.get("learning") or {})),
        ("health", [f"{item['severity']}: {item['message']}" for item in warnings] or "good"),
    ]


def _route(route: Mapping[str, Any]) -> str:
    if route.get("ready"):
        return f"{route['route_id']} (ready)"
    return f"{route['route_id']} (not ready: {route.get('reason')})"


def learning_words(learning: Mapping[str, Any]) -> str | None:
    """The learning plane on one line: its mode, what waits, what is known."""
    if not learning:
        return None
    candidates, learnings = learning.get("candidates") or {}, learning.get("learnings") or {}
    escalated = candidates.get("escalated", 0)
    waiting = count(candidates.get("pending", 0) + escalated, "candidate")
    of_them = f" ({escalated} escalated)" if escalated else ""
    known = f"{learnings.get('active', 0)} active and {learnings.get('provisional', 0)} provisional"
    return f"mode {learning.get('mode')}; {waiting} to review{of_them}; {known} learnings"
