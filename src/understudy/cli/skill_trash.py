"""`understudy skills trash`: deleted skills, and how they come back."""

from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from understudy.cli import screen, skills_shown
from understudy.cli.arguments import Cursor, Key, Limit
from understudy.cli.connection import connect
from understudy.cli.options import Commands
from understudy.cli.output import note
from understudy.cli.skill_options import Acknowledge, acknowledged, answering_for

commands = Commands("Deleted skills; alone it lists them.")


class ListsByDefault(TyperGroup):
    """A group that lists what there is when nothing else is asked of it."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put `list` where no command stands."""
        is_named = bool(args) and not args[0].startswith("-")
        is_help = bool(args) and args[0] in ctx.help_option_names
        return super().parse_args(ctx, args if is_named or is_help else ["list", *args])


@commands("list")
def list_trash(ctx: typer.Context, limit: Limit = 50, cursor: Cursor = None) -> None:
    """List deleted skills: yours, or as an admin everybody's."""
    with connect(ctx) as daemon:
        page = daemon.client.skill_trash.page(limit=limit, cursor=cursor)
        rows = [
            (
                item.trash_name,
                item.slug,
                item.version,
                item.owner_id,
                item.deleted_by,
                screen.ago(item.deleted_at_ms),
                screen.visible(item.name),
            )
            for item in page.items
        ]
        columns = ("trash name", "skill", "version", "owner", "deleted by", "deleted", "name")
        daemon.show(lambda: screen.table(columns, rows, empty="The trash is empty."))
        daemon.more(page.next_cursor)


@commands("restore")
def restore(
    ctx: typer.Context,
    trash_name: Annotated[
        str, typer.Argument(metavar="NAME", help="What it is called in the trash.")
    ],
    acknowledge: Acknowledge = None,
    key: Key = None,
) -> None:
    """Bring a deleted skill back with all its versions; its grants are gone."""
    with connect(ctx) as daemon, answering_for(acknowledge):
        view = daemon.client.skill_trash.restore(
            trash_name, acknowledged=acknowledged(acknowledge), key=key
        )

        def render() -> None:
            print(view.id)
            reach = skills_shown.REACH[view.visibility]
            note(f"{view.slug} is back at version {view.version}, {view.visibility}: {reach}")

        daemon.show(render)
