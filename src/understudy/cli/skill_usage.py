"""`understudy skills usage`: what came of a skill."""

from typing import TYPE_CHECKING, Annotated

import typer

from understudy.cli import screen
from understudy.cli.arguments import Cursor, Limit
from understudy.cli.connection import connect
from understudy.cli.options import Commands
from understudy.cli.skill_options import SkillRef

if TYPE_CHECKING:
    from understudy.wire.skill_usage import SkillUsage, UsageFigures

commands = Commands("What came of skills.")


@commands("usage")
def usage(
    ctx: typer.Context,
    skill: SkillRef,
    days: Annotated[
        int | None, typer.Option("--days", min=1, max=3650, help="Only the last so many days.")
    ] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> None:
    """Tell in how many runs each version was on offer and was used, and how those ended."""
    with connect(ctx) as daemon:
        view = daemon.client.skills.usage_page(skill, days=days, limit=limit, cursor=cursor)
        daemon.show(lambda: _tell(view))
        daemon.more(view.next_cursor)


def _tell(view: "SkillUsage") -> None:
    rows = [_row(each.version or None, each) for each in view.items]
    if len(view.items) > 1 or view.next_cursor:
        rows.append(_row("all", view.total))
    columns = ("version", "offered", "used", "succeeded", "failed", "abandoned", "last used")
    screen.table(columns, rows, empty="No run knew of it.")


def _row(version: object, figures: "UsageFigures") -> tuple[object, ...]:
    return (
        version,
        figures.offered,
        figures.used,
        figures.succeeded,
        figures.failed,
        figures.abandoned,
        screen.ago(figures.last_used_at_ms),
    )
