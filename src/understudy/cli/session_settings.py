"""`understudy sessions set-…` and `clear-…`: what a session is bound to."""

from typing import Annotated, Final, Literal

import typer

from understudy.cli import inputs, session_mcp_servers, session_permissions
from understudy.cli.arguments import TARGET_HELP, Allow, Deny, SessionId
from understudy.cli.connection import connect
from understudy.cli.options import Commands
from understudy.cli.sessions import show_session

commands = Commands("What a session is bound to.")
commands.app.add_typer(session_permissions.commands.app, name="permissions")
commands.app.add_typer(session_mcp_servers.commands.app, name="mcp-servers")

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
    from understudy.wire.sessions import RoutePolicy

    settings = {
        **(inputs.json_object(generation, "--generation") or {}),
        **given(model=model),
    }
    if route is None and not settings:
        raise typer.BadParameter("give a route, --model or --generation")
    with connect(ctx) as daemon:
        policy = RoutePolicy(**given(provider=route, generation=settings or None))
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
    from understudy.wire.replies import ReplyTarget

    pairs = [inputs.reply_target(target) for target in targets]
    with connect(ctx) as daemon:
        wanted = [ReplyTarget(plugin=plugin, address=address) for plugin, address in pairs]
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
