"""`understudy runtime` and `routes`: settings that change while the daemon runs."""

from typing import Annotated, Final

import typer

from understudy.cli import screen
from understudy.cli.connection import connect
from understudy.cli.options import Commands
from understudy.cli.output import note

commands = Commands("Runtime: settings that change while the daemon runs.")

Expected = Annotated[
    int | None, typer.Option("--expected-revision", help="Refuse if it is another by now.")
]


RECORD: Final[screen.Layout] = {
    "revision": "revision",
    "default route": "default_route",
    "model": "model",
    "debug level": "debug_level",
    "changed": "updated_at_ms",
    "by": "actor",
}


@commands("show", "get")
def show(ctx: typer.Context) -> None:
    """Show the settings in force."""
    with connect(ctx) as daemon:
        daemon.show_record(daemon.client.runtime.get(), RECORD)


@commands("set")
def change(
    ctx: typer.Context,
    default_route: Annotated[str | None, typer.Option(help="Where runs go by default.")] = None,
    debug_level: Annotated[str | None, typer.Option(help="off, requests or full.")] = None,
    expected_revision: Expected = None,
) -> None:
    """Change settings; each change is a revision."""
    from understudy.client.calls import given
    from understudy.wire.runtime import ChangeRuntime

    fields = given(default_route=default_route, debug_level=debug_level)
    if not fields:
        raise typer.BadParameter("give something to change")
    with connect(ctx) as daemon:
        wanted = {**fields, **given(expected_revision=expected_revision)}
        daemon.show_record(
            daemon.client.runtime.change(ChangeRuntime.model_validate(wanted)), RECORD
        )


REVISIONS_COLUMNS: Final[screen.Layout] = {
    "revision": "revision",
    "when": "updated_at_ms",
    "by": "actor",
    "setting": "setting",
    "document": lambda item: screen.compact(item.document) or "{}",
}


@commands("revisions")
def revisions(ctx: typer.Context) -> None:
    """List the kept revisions, newest first."""
    with connect(ctx) as daemon:
        page = daemon.client.runtime.revisions_page()
        daemon.show_page(page, REVISIONS_COLUMNS, empty="No revisions yet.")


@commands("rollback")
def roll_back(
    ctx: typer.Context,
    revision: Annotated[
        int | None, typer.Argument(metavar="[REVISION]", help="The one before if left out.")
    ] = None,
    expected_revision: Expected = None,
) -> None:
    """Bring an earlier revision back as a new one."""
    with connect(ctx) as daemon:
        view = daemon.client.runtime.roll_back(revision, expected_revision=expected_revision)
        daemon.show_record(view, RECORD)


routes = Commands("Routes: where model calls can go.")


ROUTES_COLUMNS: Final[screen.Layout] = {
    "route": lambda item: f"{item.route_id} (default)" if item.default else item.route_id,
    "provider": "provider",
    "model": "model",
    "state": lambda item: "ready" if item.ready else "not ready",
    "about": lambda item: item.reason or item.base_url or "",
}


@routes("list")
def list_routes(ctx: typer.Context) -> None:
    """List routes and whether they can be used."""
    with connect(ctx) as daemon:
        page = daemon.client.routes.page(limit=200)
        empty = "No routes. Set OPENAI_API_KEY or write a config file, and start the daemon again."
        daemon.show_page(page, ROUTES_COLUMNS, empty=empty)


@routes("set-default")
def set_default(
    ctx: typer.Context,
    route_id: Annotated[str, typer.Argument(metavar="ROUTE", help="The route's id.")],
) -> None:
    """Send future runs without a route of their own here; queued runs keep theirs."""
    from understudy.wire.runtime import ChangeRuntime

    with connect(ctx) as daemon:
        view = daemon.client.runtime.change(ChangeRuntime(default_route=route_id))
        daemon.show(lambda: note(f"the default route is {view.default_route}"))
