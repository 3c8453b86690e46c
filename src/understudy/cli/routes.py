"""`understudy routes`: where model calls can go."""

from typing import Annotated

import typer

from understudy.cli import screen
from understudy.cli.connection import connect
from understudy.cli.options import Commands
from understudy.cli.output import note

commands = Commands("Routes: where model calls can go.")


@commands("list")
def list_routes(ctx: typer.Context) -> None:
    """List routes and whether they can be used."""
    with connect(ctx) as daemon:
        page = daemon.client.routes.page(limit=200)
        rows = [
            (
                f"{item.route_id} (default)" if item.default else item.route_id,
                item.provider,
                item.model,
                "ready" if item.ready else "not ready",
                item.reason or item.base_url or "",
            )
            for item in page.items
        ]
        columns = ("route", "provider", "model", "state", "about")
        empty = "No routes. Set OPENAI_API_KEY or write a config file, and start the daemon again."
        daemon.show(lambda: screen.table(columns, rows, empty=empty))


@commands("set-default")
def set_default(
    ctx: typer.Context,
    route_id: Annotated[str, typer.Argument(metavar="ROUTE", help="The route's id.")],
) -> None:
    """Send future runs without a route of their own here; queued runs keep theirs."""
    from understudy.wire.runtime import ChangeRuntime

    with connect(ctx) as daemon:
        view = daemon.client.runtime.change(ChangeRuntime(default_route=route_id))
        daemon.show(lambda: note(f"the default route is {view.default_route}"))
