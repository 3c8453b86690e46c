"""`understudy runtime` and `routes`: settings that change while the daemon runs."""

from typing import Annotated, Final

import typer

from understudy.cli import inputs, screen
from understudy.cli.connection import Commands, DaemonConnection
from understudy.cli.options import Expected
from understudy.cli.table import Verb, declare

commands = Commands("Runtime: settings that change while the daemon runs.")


RECORD: Final[screen.Layout] = {
    "revision": "revision",
    "default route": "default_route",
    "model": "model",
    "debug level": "debug_level",
    "two approvers": lambda item: ", ".join(item.require_two_approvers) or "for nothing",
    "signed uploads": lambda item: "required" if item.require_signed_uploads else "not required",
    "memory writes": "memory_writes",
    "changed": "updated_at_ms",
    "by": "actor",
}


@commands("set", show=RECORD)
def change(
    daemon: DaemonConnection,
    default_route: Annotated[str | None, typer.Option(help="Where runs go by default.")] = None,
    debug_level: Annotated[str | None, typer.Option(help="off, requests or full.")] = None,
    two_approvers: Annotated[
        str | None,
        typer.Option(
            help="What needs two people, with commas: skill_activation, policy_change,"
            " bulk_publication; `none` ends it."
        ),
    ] = None,
    signed_uploads: Annotated[
        bool | None,
        typer.Option(
            "--signed-uploads/--no-signed-uploads",
            help="Whether uploads of skills need the signature of a known key.",
        ),
    ] = None,
    memory_writes: Annotated[
        str | None,
        typer.Option(
            help="How Claude Code is answered when it writes to its memory: deny, ask or defer."
        ),
    ] = None,
    expected_revision: Expected = None,
) -> object:
    """Change settings; each change is a revision."""
    from understudy.wire.runtime import ChangeRuntime

    given = (default_route, debug_level, two_approvers, signed_uploads, memory_writes)
    if all(each is None for each in given):
        raise typer.BadParameter("give something to change")
    wanted = inputs.request(
        ChangeRuntime,
        default_route=default_route,
        debug_level=debug_level,
        require_two_approvers=_names(two_approvers),
        require_signed_uploads=signed_uploads,
        memory_writes=memory_writes,
        expected_revision=expected_revision,
    )
    return daemon.client.runtime.change(wanted)


def _names(given: str | None) -> list[str] | None:
    if given is None:
        return None
    return [] if given == "none" else [each.strip() for each in given.split(",")]


REVISIONS_COLUMNS: Final[screen.Layout] = {
    "revision": "revision",
    "when": "updated_at_ms",
    "by": "actor",
    "setting": "setting",
    "document": lambda item: screen.compact(item.document) or "{}",
}


@commands("rollback", show=RECORD)
def roll_back(
    daemon: DaemonConnection,
    revision: Annotated[
        int | None, typer.Argument(metavar="[REVISION]", help="The one before if left out.")
    ] = None,
    expected_revision: Expected = None,
) -> object:
    """Bring an earlier revision back as a new one."""
    return daemon.client.runtime.roll_back(revision, expected_revision=expected_revision)


routes = Commands("Routes: where model calls can go.")


ROUTES_COLUMNS: Final[screen.Layout] = {
    "route": lambda item: f"{item.route_id} (default)" if item.default else item.route_id,
    "provider": "provider",
    "model": "model",
    "window": lambda item: f"{item.context_window:,} ({item.context_window_source})",
    "state": lambda item: "ready" if item.ready else "not ready",
    "about": lambda item: item.reason or item.base_url or "",
}


@routes(
    "list",
    show=ROUTES_COLUMNS,
    empty="No routes. Set OPENAI_API_KEY or write a config file, and start the daemon again.",
)
def list_routes(daemon: DaemonConnection) -> object:
    """List routes and whether they can be used."""
    return daemon.client.routes.page(limit=200)


@routes("set-default", show="the default route is {view.default_route}")
def set_default(
    daemon: DaemonConnection,
    route_id: Annotated[str, typer.Argument(metavar="ROUTE", help="The route's id.")],
) -> object:
    """Send future runs without a route of their own here; queued runs keep theirs."""
    from understudy.wire.runtime import ChangeRuntime

    return daemon.client.runtime.change(ChangeRuntime(default_route=route_id))


declare(
    commands,
    Verb(names="show get", call="runtime.get", show=RECORD),
    Verb(
        names="revisions",
        call="runtime.revisions_page",
        show=REVISIONS_COLUMNS,
        empty="No revisions yet.",
    ),
)
