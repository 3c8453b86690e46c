"""`understudy sessions permissions`: which tool calls may run in a session."""

from typing import TYPE_CHECKING

import typer

from understudy.cli import rules, screen
from understudy.cli.arguments import SessionId
from understudy.cli.connection import Connection, connect
from understudy.cli.options import Commands

if TYPE_CHECKING:
    from understudy.wire.permissions import SessionPermissionsView

commands = Commands("Which tool calls may run in a session.")


@commands("show", "get")
def show(ctx: typer.Context, session_id: SessionId) -> None:
    """Show the rules of a session, and those it took from its parent."""
    with connect(ctx) as daemon:
        _show(daemon, daemon.client.permissions.of_session(session_id))


@commands("set")
def replace(
    ctx: typer.Context,
    session_id: SessionId,
    allow: rules.Allow = None,
    ask: rules.Ask = None,
    deny: rules.Deny = None,
    file: rules.RulesFile = None,
) -> None:
    """Replace the rules of a session, also while it is busy; the next tool call sees them."""
    typed = rules.typed(allow=allow, ask=ask, deny=deny, file=file)
    with connect(ctx) as daemon:
        _show(daemon, daemon.client.permissions.set_of_session(session_id, rules.read(typed)))


@commands("clear")
def clear(ctx: typer.Context, session_id: SessionId) -> None:
    """Drop the session's own rules; those a sidechain took from its parent stay."""
    with connect(ctx) as daemon:
        _show(daemon, daemon.client.permissions.clear_of_session(session_id))


def _show(daemon: Connection, view: "SessionPermissionsView") -> None:
    kept = [("parent", rule) for rule in view.inherited]
    kept += [("session", rule) for rule in view.rules]
    rows = [rules.row(whose, index, rule) for index, (whose, rule) in enumerate(kept)]
    empty = "The session has no rules of its own."
    daemon.show(lambda: screen.table(rules.COLUMNS, rows, empty=empty))
