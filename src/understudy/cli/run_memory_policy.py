"""`understudy policy run-memory`: how much is remembered of runs, for how long, for whom."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from understudy.cli import screen
from understudy.cli.arguments import Cursor, Limit
from understudy.cli.connection import Connection, connect
from understudy.cli.options import Commands
from understudy.cli.policy_input import changed, document, one_source
from understudy.cli.runtime import Expected

if TYPE_CHECKING:
    from understudy.wire.memory import RunMemoryPolicyView

commands = Commands("How much is remembered of runs, for how long, and who may find it.")


@commands("show", "get")
def show(ctx: typer.Context) -> None:
    """Show the policy in force."""
    with connect(ctx) as daemon:
        _show(daemon, daemon.client.run_memory_policy.get())


@commands("set")
def change(
    ctx: typer.Context,
    pairs: Annotated[
        list[str] | None,
        typer.Argument(metavar="[KEY=VALUE]...", help="Fields to change; the others stay."),
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option("--file", help="A whole policy as JSON; what it leaves out is the default."),
    ] = None,
    stdin: Annotated[bool, typer.Option("--stdin", help="The same, from stdin.")] = False,
    expected_revision: Expected = None,
) -> None:
    """Change the policy; what it no longer allows is forgotten at once."""
    source = one_source(file, stdin=stdin)
    if bool(pairs) == (source is not None):
        raise typer.BadParameter("give KEY=VALUE pairs, or --file, or --stdin")
    typed = changed({}, pairs or ()) if source is None else document(source)
    with connect(ctx) as daemon:
        if source is None:
            current = daemon.client.run_memory_policy.get()
            typed = {**current.policy.model_dump(), **typed}
            # Somebody else's change in between is not undone.
            expected_revision = expected_revision or current.revision
        view = daemon.client.run_memory_policy.set(typed, expected_revision=expected_revision)
        _show(daemon, view)


@commands("revisions")
def revisions(ctx: typer.Context, limit: Limit = 50, cursor: Cursor = None) -> None:
    """List the kept revisions of the policy, newest first."""
    with connect(ctx) as daemon:
        page = daemon.client.run_memory_policy.revisions_page(limit=limit, cursor=cursor)
        rows = [
            (
                item.revision,
                screen.ago(item.updated_at_ms),
                item.actor,
                item.rollback_of_revision,
                screen.compact(item.policy.model_dump()),
            )
            for item in page.items
        ]
        columns = ("revision", "when", "by", "rollback of", "policy")
        daemon.show(lambda: screen.table(columns, rows, empty="No revisions yet."))
        daemon.more(page.next_cursor)


@commands("rollback")
def roll_back(
    ctx: typer.Context,
    revision: Annotated[
        int | None, typer.Argument(metavar="[REVISION]", help="The one before if left out.")
    ] = None,
    expected_revision: Expected = None,
) -> None:
    """Bring the policy of an earlier revision back as a new one."""
    with connect(ctx) as daemon:
        view = daemon.client.run_memory_policy.roll_back(
            revision, expected_revision=expected_revision
        )
        _show(daemon, view)


def policy_pairs(view: "RunMemoryPolicyView") -> list[tuple[str, object]]:
    """Everything that the policy in force says."""
    return [
        ("revision", view.revision),
        ("changed", screen.ago(view.updated_at_ms)),
        *view.policy.model_dump().items(),
    ]


def _show(daemon: Connection, view: "RunMemoryPolicyView") -> None:
    daemon.show(lambda: screen.fields(policy_pairs(view)))
