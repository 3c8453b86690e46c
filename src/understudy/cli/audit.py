"""`understudy audit`: who did what, and who was told no."""

from typing import Annotated

import typer

from understudy.cli import screen
from understudy.cli.arguments import Cursor, Limit
from understudy.cli.connection import connect


def audit(
    ctx: typer.Context,
    resource: Annotated[str | None, typer.Option(help="Only one kind, such as `sessions`.")] = None,
    actor: Annotated[str | None, typer.Option(help="Only what somebody did.")] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> None:
    """List who did what, and who was told no; newest first."""
    with connect(ctx) as daemon:
        page = daemon.client.audit.page(resource=resource, actor=actor, limit=limit, cursor=cursor)
        rows = [
            (
                screen.ago(item.at_ms),
                item.actor,
                item.action,
                item.outcome if item.reason is None else f"{item.outcome}: {item.reason}",
                item.resource_id,
            )
            for item in page.items
        ]
        columns = ("when", "who", "action", "outcome", "what")
        empty = "Nothing was changed or refused yet."
        daemon.show(lambda: screen.table(columns, rows, empty=empty))
        daemon.more(page.next_cursor)
