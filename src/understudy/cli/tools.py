"""`understudy tools`: what agents can do."""

from typing import TYPE_CHECKING, Annotated

import typer

from understudy.cli import inputs, rules, screen
from understudy.cli.connection import Connection, connect
from understudy.cli.hints import understudy
from understudy.cli.options import Commands
from understudy.cli.output import note

if TYPE_CHECKING:
    from understudy.wire.permissions import VerdictView

commands = Commands("Tools: what agents can do.")

ToolName = Annotated[str, typer.Argument(metavar="TOOL", help="The tool's name.")]


@commands("list")
def list_tools(
    ctx: typer.Context,
    session: Annotated[
        str | None, typer.Option(help="As this session has them: what is gated, and why.")
    ] = None,
) -> None:
    """List tools, what a repeat of a call would do, and whether a person must agree."""
    with connect(ctx) as daemon:
        if session is not None:
            _list_of_session(daemon, session)
            return
        page = daemon.client.tools.page(limit=200)
        rows = [
            (item.name, item.enabled, item.effect, item.approval, item.description)
            for item in page.items
        ]
        columns = ("tool", "enabled", "effect", "approval", "what it does")
        daemon.show(lambda: screen.table(columns, rows, empty="This daemon has no tools."))


@commands("check")
def check(
    ctx: typer.Context,
    name: ToolName,
    arguments: Annotated[
        str | None, typer.Option(metavar="JSON", help="What it would be called with.")
    ] = None,
    session: Annotated[str | None, typer.Option(help="In which session.")] = None,
    agent: Annotated[str | None, typer.Option(help="By which agent.")] = None,
) -> None:
    """Say what would become of a call, and which rule says so; nothing is run."""
    given = inputs.json_object(arguments, "--arguments")
    with connect(ctx) as daemon:
        verdict = daemon.client.tools.check(name, given, session_id=session, agent_id=agent)
        daemon.show(lambda: _explain(verdict))


@commands("enable")
def enable(ctx: typer.Context, name: ToolName) -> None:
    """Let agents use a tool."""
    _set(ctx, name, enabled=True)


@commands("disable")
def disable(ctx: typer.Context, name: ToolName) -> None:
    """Keep agents from using a tool."""
    _set(ctx, name, enabled=False)


def _set(ctx: typer.Context, name: str, *, enabled: bool) -> None:
    with connect(ctx) as daemon:
        view = daemon.client.tools.set(name, enabled=enabled)
        daemon.show(lambda: note(f"{view.name} is {'enabled' if view.enabled else 'disabled'}"))


def _list_of_session(daemon: Connection, session_id: str) -> None:
    page = daemon.client.tools.in_session_page(session_id, limit=200)
    rows = [
        (
            item.name,
            item.enabled,
            item.decision + (" *" if item.depends_on_arguments else ""),
            item.level,
            item.reason,
        )
        for item in page.items
    ]
    columns = ("tool", "enabled", "decision", "by", "why")
    daemon.show(lambda: screen.table(columns, rows, empty="This session has no tools."))
    if any(item.depends_on_arguments for item in page.items) and not daemon.as_json:
        note(f"* depends on what it is called with: try `{understudy()} tools check`")


def _explain(verdict: "VerdictView") -> None:
    pairs = [("decision", verdict.decision), ("by", verdict.level), ("why", verdict.reason)]
    screen.fields(pairs)
    rows = [
        (
            *rules.row(" ".join(filter(None, (line.level, line.owner))), line.index, line.rule)[
                :-1
            ],
            line.matched,
            line.why,
        )
        for line in verdict.trace
    ]
    if rows:
        print()
        screen.table((*rules.COLUMNS[:-1], "matched", "why"), rows, empty="")
