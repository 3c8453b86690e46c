"""`understudy rollouts`: procedures that become skills, where they stand and how they got there."""

from typing import TYPE_CHECKING, Annotated

import typer

from understudy.cli import rollouts_shown, screen
from understudy.cli.arguments import Cursor, Limit
from understudy.cli.connection import connect
from understudy.cli.options import Commands
from understudy.cli.output import note
from understudy.cli.rollout_options import STAGES, SkillName

if TYPE_CHECKING:
    from understudy.wire.rollouts import RolloutDiff, RolloutView

commands = Commands("Rollouts: procedures that become skills, stage by stage.")


@commands("list")
def list_rollouts(
    ctx: typer.Context,
    status: Annotated[
        str | None, typer.Option("--status", help=f"Only in a stage: {STAGES}.")
    ] = None,
    learning: Annotated[
        str | None, typer.Option("--learning", metavar="LEARNING", help="Only of this learning.")
    ] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> None:
    """List promoted skills, by name."""
    with connect(ctx) as daemon:
        page = daemon.client.rollouts.page(
            limit=limit, cursor=cursor, status=status, source_learning_id=learning
        )
        rows = rollouts_shown.rows(page.items)
        daemon.show(
            lambda: screen.table(rollouts_shown.COLUMNS, rows, empty="No procedure was promoted.")
        )
        daemon.more(page.next_cursor)


@commands("show", "get")
def show(ctx: typer.Context, name: SkillName) -> None:
    """Show where a promoted skill stands, what speaks for it, and what the next stage asks for."""
    with connect(ctx) as daemon:
        view = daemon.client.rollouts.get(name)
        daemon.show(lambda: _show(view))


@commands("events")
def events(ctx: typer.Context, name: SkillName, limit: Limit = 50, cursor: Cursor = None) -> None:
    """List everything that happened to a promoted skill, oldest first."""
    with connect(ctx) as daemon:
        page = daemon.client.rollouts.events_page(name, limit=limit, cursor=cursor)
        rows = rollouts_shown.event_rows(page.items)
        columns = rollouts_shown.EVENT_COLUMNS
        daemon.show(lambda: screen.table(columns, rows, empty="Nothing happened yet."))
        daemon.more(page.next_cursor)


@commands("history")
def history(ctx: typer.Context, name: SkillName, limit: Limit = 50, cursor: Cursor = None) -> None:
    """List how a promoted skill was before each of its changes, newest first."""
    with connect(ctx) as daemon:
        page = daemon.client.rollouts.history_page(name, limit=limit, cursor=cursor)
        rows = rollouts_shown.history_rows(page.items)
        columns = rollouts_shown.HISTORY_COLUMNS
        daemon.show(lambda: screen.table(columns, rows, empty="It has not changed yet."))
        daemon.more(page.next_cursor)


@commands("diff")
def diff(
    ctx: typer.Context,
    name: SkillName,
    old: Annotated[
        int | None,
        typer.Argument(
            metavar="[FROM]",
            min=1,
            help="The older revision; by default the newest one with another definition.",
        ),
    ] = None,
    new: Annotated[
        int | None,
        typer.Argument(
            metavar="[TO]", min=1, help="The newer revision; by default the current one."
        ),
    ] = None,
) -> None:
    """Print what changed between two revisions, as a patch of the skill's files."""
    with connect(ctx) as daemon:
        view = daemon.client.rollouts.diff(name, old, new)
        daemon.show(lambda: _show_diff(view))


def _show(view: "RolloutView") -> None:
    screen.fields(rollouts_shown.pairs(view))
    print()
    print(screen.printable(screen.visible(view.instructions)))


def _show_diff(view: "RolloutDiff") -> None:
    if not view.files:
        both = f"revisions {view.from_number} and {view.to_number} say"
        note(
            "it has always said this" if view.from_number == view.to_number else f"{both} the same"
        )
        return
    screen.document("".join(f"{each.diff}\n" for each in view.files if each.diff is not None))
    if any(each.cut for each in view.files):
        note("not everything is shown: there is too much of it")
