"""`understudy sessions set-…`, `clear-…`, `permissions` and `mcp-servers`: what a session is bound to."""

from typing import TYPE_CHECKING, Annotated, Final, Literal

import typer

from understudy.cli import inputs, permissions, screen
from understudy.cli.connection import DaemonConnection, connect
from understudy.cli.options import TARGET_HELP, Allow, Commands, Deny, SessionId
from understudy.cli.sessions import show_session

if TYPE_CHECKING:
    from understudy.wire.mcp import SessionMcpServersView
    from understudy.wire.permissions import SessionPermissionsView

permission_commands = Commands("Which tool calls may run in a session.")


@permission_commands("show", "get")
def show_permissions(ctx: typer.Context, session_id: SessionId) -> None:
    """Show the rules of a session, and those it took from its parent."""
    with connect(ctx) as daemon:
        _show_permissions(daemon, daemon.client.permissions.of_session(session_id))


@permission_commands("set")
def replace_permissions(
    ctx: typer.Context,
    session_id: SessionId,
    allow: permissions.Allow = None,
    ask: permissions.Ask = None,
    deny: permissions.Deny = None,
    file: permissions.RulesFile = None,
) -> None:
    """Replace the rules of a session, also while it is busy; the next tool call sees them."""
    typed = permissions.typed_rules(allow=allow, ask=ask, deny=deny, file=file)
    with connect(ctx) as daemon:
        _show_permissions(
            daemon, daemon.client.permissions.set_of_session(session_id, permissions.read(typed))
        )


@permission_commands("clear")
def clear_permissions(ctx: typer.Context, session_id: SessionId) -> None:
    """Drop the session's own rules; those a sidechain took from its parent stay."""
    with connect(ctx) as daemon:
        _show_permissions(daemon, daemon.client.permissions.clear_of_session(session_id))


def _show_permissions(daemon: DaemonConnection, view: "SessionPermissionsView") -> None:
    kept = [("parent", rule) for rule in view.inherited]
    kept += [("session", rule) for rule in view.rules]
    rows = [permissions.row(whose, index, rule) for index, (whose, rule) in enumerate(kept)]
    empty = "The session has no rules of its own."
    daemon.show(lambda: screen.table(permissions.COLUMNS, rows, empty=empty))


mcp_commands = Commands("MCP servers that a session has for itself.")


@mcp_commands("show", "get")
def show_mcp_servers(ctx: typer.Context, session_id: SessionId) -> None:
    """Show the servers that a session has for itself, and how they stand."""
    with connect(ctx) as daemon:
        _show_mcp_servers(daemon, daemon.client.mcp_servers.of_session(session_id))


@mcp_commands("set")
def replace_mcp_servers(
    ctx: typer.Context,
    session_id: SessionId,
    servers: Annotated[
        str,
        typer.Argument(
            metavar="JSON|@FILE", help='By name, such as {"docs": {"url": "https://…/mcp"}}.'
        ),
    ],
) -> None:
    """Give future runs of a session these servers and no others of its own."""
    from understudy.wire.mcp import SetSessionMcpServers

    given = inputs.json_argument(servers, "JSON")
    with connect(ctx) as daemon:
        # What the API takes, or just the servers in it: no server's name has an underscore.
        body = given if given and "mcp_servers" in given else {"mcp_servers": given}
        wanted = SetSessionMcpServers.model_validate(body).mcp_servers
        _show_mcp_servers(daemon, daemon.client.mcp_servers.set_for_session(session_id, wanted))


@mcp_commands("clear")
def clear_mcp_servers(ctx: typer.Context, session_id: SessionId) -> None:
    """Leave a session with the servers of the config file alone."""
    with connect(ctx) as daemon:
        _show_mcp_servers(daemon, daemon.client.mcp_servers.clear_for_session(session_id))


def _show_mcp_servers(daemon: DaemonConnection, view: "SessionMcpServersView") -> None:
    rows = [
        (name, each.transport, each.state, each.tools, each.url or each.command, each.reason or "")
        for name, each in view.mcp_servers.items()
    ]
    columns = ("server", "transport", "state", "tools", "what", "why")
    empty = "The session has no servers of its own."
    daemon.show(lambda: screen.table(columns, rows, empty=empty))


commands = Commands("What a session is bound to.")
commands.app.add_typer(permission_commands.app, name="permissions")
commands.app.add_typer(mcp_commands.app, name="mcp-servers")

ScopeName = Literal["capability", "credential"]
KINDS: Final[dict[ScopeName, tuple[str, ...]]] = {
    "capability": ("skill", "mcp_server", "mcp_tool"),
    "credential": ("route", "connector", "connector_credential", "mcp_server"),
}
Clear = Annotated[bool, typer.Option("--clear", help="Take the session's own scope away.")]


@commands("set-persona")
def set_persona(
    ctx: typer.Context,
    session_id: SessionId,
    persona_id: Annotated[str, typer.Argument(metavar="PERSONA", help="The persona to copy.")],
) -> None:
    """Copy a persona, as it is now, into an idle session."""
    with connect(ctx) as daemon:
        show_session(daemon, daemon.client.sessions.set_persona(session_id, persona_id))


@commands("clear-persona")
def clear_persona(ctx: typer.Context, session_id: SessionId) -> None:
    """Take the persona off an idle session."""
    with connect(ctx) as daemon:
        show_session(daemon, daemon.client.sessions.clear_persona(session_id))


@commands("set-route")
def set_route(
    ctx: typer.Context,
    session_id: SessionId,
    route: Annotated[
        str | None, typer.Argument(metavar="[ROUTE]", help="Where future runs go.")
    ] = None,
    model: Annotated[str | None, typer.Option(help="The model future runs ask for.")] = None,
    generation: Annotated[
        str | None, typer.Option(metavar="JSON", help="Generation settings of future runs.")
    ] = None,
) -> None:
    """Set the route of future runs."""
    from understudy.client.calls import given
    from understudy.wire.sessions import RoutePolicyBody

    settings = {
        **(inputs.json_object(generation, "--generation") or {}),
        **given(model=model),
    }
    if route is None and not settings:
        raise typer.BadParameter("give a route, --model or --generation")
    with connect(ctx) as daemon:
        policy = RoutePolicyBody(**given(provider=route, generation=settings or None))
        show_session(daemon, daemon.client.sessions.set_route(session_id, policy))


@commands("clear-route")
def clear_route(ctx: typer.Context, session_id: SessionId) -> None:
    """Let future runs take the agent's or the daemon's route."""
    with connect(ctx) as daemon:
        show_session(daemon, daemon.client.sessions.clear_route(session_id))


@commands("set-capability-scope")
def set_capability_scope(
    ctx: typer.Context,
    session_id: SessionId,
    allow: Allow = None,
    deny: Deny = None,
    clear: Clear = False,
) -> None:
    """Set what an idle session may see: KIND is skill, mcp_server or mcp_tool."""
    _set_scope(ctx, session_id, "capability", _lists("capability", allow, deny, clear=clear))


@commands("set-credential-scope")
def set_credential_scope(
    ctx: typer.Context,
    session_id: SessionId,
    allow: Allow = None,
    deny: Deny = None,
    clear: Clear = False,
) -> None:
    """Set which credentials an idle session may use: KIND is route, connector and the like."""
    _set_scope(ctx, session_id, "credential", _lists("credential", allow, deny, clear=clear))


@commands("set-reply-targets")
def set_reply_targets(
    ctx: typer.Context,
    session_id: SessionId,
    targets: Annotated[list[str], typer.Argument(metavar="TARGET...", help=TARGET_HELP)],
) -> None:
    """Set where the outputs of future runs go."""
    from understudy.wire.replies import ReplyTargetBody

    pairs = [inputs.reply_target(target) for target in targets]
    with connect(ctx) as daemon:
        wanted = [ReplyTargetBody(plugin=plugin, address=address) for plugin, address in pairs]
        show_session(daemon, daemon.client.sessions.set_reply_targets(session_id, wanted))


@commands("clear-reply-targets")
def clear_reply_targets(ctx: typer.Context, session_id: SessionId) -> None:
    """Deliver the outputs of future runs nowhere."""
    with connect(ctx) as daemon:
        show_session(daemon, daemon.client.sessions.clear_reply_targets(session_id))


def _lists(
    name: ScopeName, allow: list[str] | None, deny: list[str] | None, *, clear: bool
) -> dict[str, list[str]]:
    """The lists of a scope; none of them clears it."""
    lists = inputs.scope_lists(allow or (), deny or (), KINDS[name])
    if clear == bool(lists):
        raise typer.BadParameter("give --allow and --deny, or --clear alone")
    return lists


def _set_scope(
    ctx: typer.Context, session_id: str, name: ScopeName, lists: dict[str, list[str]]
) -> None:
    with connect(ctx) as daemon:
        sessions = daemon.client.sessions
        change, clear = {
            "capability": (sessions.set_capability_scope, sessions.clear_capability_scope),
            "credential": (sessions.set_credential_scope, sessions.clear_credential_scope),
        }[name]
        show_session(daemon, change(session_id, lists) if lists else clear(session_id))
