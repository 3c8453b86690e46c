"""`understudy sessions set-…`, `clear-…` and their groups: scopes, persona and settings."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Final

import typer

from understudy.cli import inputs, permissions, screen
from understudy.cli.connection import Commands, DaemonConnection
from understudy.cli.options import TARGET_HELP, Allow, Deny, PageOptions, SessionId
from understudy.cli.sessions import RECORD
from understudy.cli.table import Verb, declare
from understudy.core.scope import ALL, CAPABILITY_KINDS, CREDENTIAL_KINDS

if TYPE_CHECKING:
    from understudy.wire.mcp import SessionMcpServersView
    from understudy.wire.permissions import SessionPermissionsView

permission_commands = Commands("Which tool calls may run in a session.")


def _show_permissions(view: "SessionPermissionsView") -> None:
    kept = [("parent", rule) for rule in view.inherited]
    kept += [("session", rule) for rule in view.rules]
    rows = [permissions.row(whose, index, rule) for index, (whose, rule) in enumerate(kept)]
    screen.table(permissions.COLUMNS, rows, empty="The session has no rules of its own.")


@permission_commands("show", "get", show=_show_permissions)
def show_permissions(daemon: DaemonConnection, session_id: SessionId) -> object:
    """Show the rules of a session, and those it took from its parent."""
    return daemon.client.permissions.of_session(session_id)


@permission_commands("set", show=_show_permissions)
def replace_permissions(
    daemon: DaemonConnection,
    session_id: SessionId,
    allow: permissions.Allow = None,
    ask: permissions.Ask = None,
    deny: permissions.Deny = None,
    file: permissions.RulesFile = None,
) -> object:
    """Replace the rules of a session, also while it is busy; the next tool call sees them."""
    rules = permissions.typed_rules(allow=allow, ask=ask, deny=deny, file=file)
    return daemon.client.permissions.set_of_session(session_id, rules)


@permission_commands("clear", show=_show_permissions)
def clear_permissions(daemon: DaemonConnection, session_id: SessionId) -> object:
    """Drop the session's own rules; those a sidechain took from its parent stay."""
    return daemon.client.permissions.clear_of_session(session_id)


mcp_commands = Commands("MCP servers that a session has for itself.")


def _show_mcp_servers(view: "SessionMcpServersView") -> None:
    rows = [
        (name, each.transport, each.state, each.tools, each.url or each.command, each.reason or "")
        for name, each in view.mcp_servers.items()
    ]
    columns = ("server", "transport", "state", "tools", "what", "why")
    screen.table(columns, rows, empty="The session has no servers of its own.")


@mcp_commands("show", "get", show=_show_mcp_servers)
def show_mcp_servers(daemon: DaemonConnection, session_id: SessionId) -> object:
    """Show the servers that a session has for itself, and how they stand."""
    return daemon.client.mcp_servers.of_session(session_id)


@mcp_commands("set", show=_show_mcp_servers)
def replace_mcp_servers(
    daemon: DaemonConnection,
    session_id: SessionId,
    servers: Annotated[
        str,
        typer.Argument(
            metavar="JSON|@FILE", help='By name, such as {"docs": {"url": "https://…/mcp"}}.'
        ),
    ],
) -> object:
    """Give future runs of a session these servers and no others of its own."""
    from understudy.wire.mcp import SetSessionMcpServers

    given = inputs.json_argument(servers, "JSON")
    # What the API takes, or just the servers in it: no server's name has an underscore.
    body = given if given and "mcp_servers" in given else {"mcp_servers": given}
    wanted = SetSessionMcpServers.model_validate(body).mcp_servers
    return daemon.client.mcp_servers.set_for_session(session_id, wanted)


@mcp_commands("clear", show=_show_mcp_servers)
def clear_mcp_servers(daemon: DaemonConnection, session_id: SessionId) -> object:
    """Leave a session with the servers of the config file alone."""
    return daemon.client.mcp_servers.clear_for_session(session_id)


skill_commands = Commands("Skills whose instructions each prompt of a session has.")
ACTIVE_SKILLS: Final[screen.Layout] = {
    "skill": "slug",
    "version": "version",
    "from": "source",
    "state": "state",
    "why": "reason",
    "arguments": "args",
    "since": "activated_at_ms",
}


@skill_commands("show", "list", show=ACTIVE_SKILLS, empty="No skill is active in this session.")
def show_active_skills(
    daemon: DaemonConnection, session_id: SessionId, page: PageOptions
) -> object:
    """Show the active skills of a session, and what its next prompt has of them."""
    return daemon.client.sessions.active_skills_page(session_id, **page)


@skill_commands("add", show=ACTIVE_SKILLS)
def activate_skill(
    daemon: DaemonConnection,
    session_id: SessionId,
    skill: Annotated[str, typer.Argument(metavar="SKILL", help="Its slug, id or name.")],
    args: Annotated[str | None, typer.Option(help="What it is to work on.")] = None,
) -> object:
    """Activate a skill in an idle session; once more, it takes the version of now."""
    return daemon.client.sessions.activate_skill(session_id, skill, args)


@skill_commands("remove", show=RECORD)
def deactivate_skill(
    daemon: DaemonConnection,
    session_id: SessionId,
    skill: Annotated[
        str | None, typer.Argument(metavar="[SKILL]", help="Its slug, id or name.")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Take all of them off.")] = False,
) -> object:
    """Take an active skill off an idle session."""
    if every == (skill is not None):
        raise typer.BadParameter("give a skill, or --all alone")
    return daemon.client.sessions.deactivate_skill(session_id, skill or ALL)


commands = Commands("What a session is bound to.")
commands.app.add_typer(skill_commands.app, name="active-skills")
commands.app.add_typer(permission_commands.app, name="permissions")
commands.app.add_typer(mcp_commands.app, name="mcp-servers")

Clear = Annotated[bool, typer.Option("--clear", help="Take the session's own scope away.")]


@commands("set-persona", show=RECORD)
def set_persona(
    daemon: DaemonConnection,
    session_id: SessionId,
    persona_id: Annotated[str, typer.Argument(metavar="PERSONA", help="The persona to copy.")],
) -> object:
    """Copy a persona, as it is now, into an idle session."""
    return daemon.client.sessions.set_persona(session_id, persona_id)


@commands("set-route", show=RECORD)
def set_route(
    daemon: DaemonConnection,
    session_id: SessionId,
    route: Annotated[
        str | None, typer.Argument(metavar="[ROUTE]", help="Where future runs go.")
    ] = None,
    model: Annotated[str | None, typer.Option(help="The model future runs ask for.")] = None,
    generation: Annotated[
        str | None, typer.Option(metavar="JSON", help="Generation settings of future runs.")
    ] = None,
) -> object:
    """Set the route of future runs."""
    from understudy.wire.sessions import RoutePolicyBody

    settings = inputs.json_object(generation, "--generation") or {}
    if model is not None:
        settings["model"] = model
    if route is None and not settings:
        raise typer.BadParameter("give a route, --model or --generation")
    policy = inputs.request(RoutePolicyBody, provider=route, generation=settings or None)
    return daemon.client.sessions.set_route(session_id, policy)


@commands("set-capability-scope", show=RECORD)
def set_capability_scope(
    daemon: DaemonConnection,
    session_id: SessionId,
    allow: Allow = None,
    deny: Deny = None,
    clear: Clear = False,
) -> object:
    """Set what an idle session may see: KIND is skill, mcp_server or mcp_tool."""
    sessions = daemon.client.sessions
    if lists := _scope_lists(CAPABILITY_KINDS, allow, deny, clear=clear):
        return sessions.set_capability_scope(session_id, lists)
    return sessions.clear_capability_scope(session_id)


@commands("set-credential-scope", show=RECORD)
def set_credential_scope(
    daemon: DaemonConnection,
    session_id: SessionId,
    allow: Allow = None,
    deny: Deny = None,
    clear: Clear = False,
) -> object:
    """Set which credentials an idle session may use: KIND is route, connector and the like."""
    sessions = daemon.client.sessions
    if lists := _scope_lists(CREDENTIAL_KINDS, allow, deny, clear=clear):
        return sessions.set_credential_scope(session_id, lists)
    return sessions.clear_credential_scope(session_id)


@commands("set-reply-targets", show=RECORD)
def set_reply_targets(
    daemon: DaemonConnection,
    session_id: SessionId,
    targets: Annotated[list[str], typer.Argument(metavar="TARGET...", help=TARGET_HELP)],
) -> object:
    """Set where the outputs of future runs go."""
    from understudy.wire.replies import ReplyTargetBody

    pairs = [inputs.reply_target(target) for target in targets]
    wanted = [ReplyTargetBody(plugin=plugin, address=address) for plugin, address in pairs]
    return daemon.client.sessions.set_reply_targets(session_id, wanted)


def _scope_lists(
    kinds: Sequence[str], allow: list[str] | None, deny: list[str] | None, *, clear: bool
) -> dict[str, list[str]]:
    """The lists of a scope; none of them clears it."""
    lists = inputs.scope_lists(allow or (), deny or (), kinds)
    if clear == bool(lists):
        raise typer.BadParameter("give --allow and --deny, or --clear alone")
    return lists


declare(
    commands,
    Verb(names="clear-persona", call="sessions.clear_persona", show=RECORD),
    Verb(names="clear-route", call="sessions.clear_route", show=RECORD),
    Verb(names="clear-reply-targets", call="sessions.clear_reply_targets", show=RECORD),
)
