"""`understudy permissions`: which tool calls may run, for every agent."""

from typing import TYPE_CHECKING

import typer

from understudy.cli import rules, screen
from understudy.cli.connection import Connection, connect
from understudy.cli.options import Commands
from understudy.cli.runtime import Expected

if TYPE_CHECKING:
    from understudy.wire.permissions import PermissionsView

commands = Commands("Permissions: which tool calls may run, for every agent.")


@commands("show", "get")
def show(ctx: typer.Context) -> None:
    """Show the rules that hold for every agent."""
    with connect(ctx) as daemon:
        _show(daemon, daemon.client.permissions.get())


@commands("set")
def replace(
    ctx: typer.Context,
    allow: rules.Allow = None,
    ask: rules.Ask = None,
    deny: rules.Deny = None,
    file: rules.RulesFile = None,
    clear: rules.Clear = False,
    expected_revision: Expected = None,
) -> None:
    """Replace the rules that hold for every agent; the next tool call sees them."""
    typed = rules.typed(allow=allow, ask=ask, deny=deny, file=file, clear=clear)
    with connect(ctx) as daemon:
        _show(
            daemon,
            daemon.client.permissions.set(rules.read(typed), expected_revision=expected_revision),
        )


def _show(daemon: Connection, view: "PermissionsView") -> None:
    rows = [rules.row("daemon", index, rule) for index, rule in enumerate(view.rules)]
    empty = "No rules: every tool keeps its own default."
    daemon.show(lambda: screen.table(rules.COLUMNS, rows, empty=empty))
