"""`understudy status`: what the daemon is and does."""

from collections.abc import Mapping
from typing import Any

import typer

from understudy.cli import screen
from understudy.cli.connection import connect
from understudy.cli.learning_words import learning_words


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
