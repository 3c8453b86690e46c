"""`understudy sessions sidechains`: the sessions below a session."""

import typer

from understudy.cli import screen
from understudy.cli.arguments import Cursor, Limit, SessionId
from understudy.cli.connection import connect
from understudy.cli.options import Commands

commands = Commands("The sessions below a session.")


@commands("sidechains")
def list_sidechains(
    ctx: typer.Context, session_id: SessionId, limit: Limit = 50, cursor: Cursor = None
) -> None:
    """List the sidechains of a session, with their newest runs."""
    with connect(ctx) as daemon:
        page = daemon.client.sessions.sidechains_page(session_id, limit=limit, cursor=cursor)
        rows = [
            (
                item.session_id,
                item.label,
                item.agent_id,
                item.last_run.status if item.last_run else item.status,
                screen.ago(item.updated_at_ms),
            )
            for item in page.items
        ]
        columns = ("session", "label", "agent", "state", "changed")
        daemon.show(lambda: screen.table(columns, rows, empty="No sidechains."))
        daemon.more(page.next_cursor)
