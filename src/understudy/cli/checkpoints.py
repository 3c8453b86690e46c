"""`understudy sessions checkpoints`: the summaries of older parts."""

import typer

from understudy.cli import screen
from understudy.cli.arguments import Cursor, Limit, SessionId
from understudy.cli.connection import connect
from understudy.cli.options import Commands

commands = Commands("Sessions: the summaries that stand for older parts.")


@commands("checkpoints")
def checkpoints(
    ctx: typer.Context, session_id: SessionId, limit: Limit = 50, cursor: Cursor = None
) -> None:
    """List the summaries that stand for older parts of a session, newest first."""
    with connect(ctx) as daemon:
        page = daemon.client.checkpoints.page(session_id, limit=limit, cursor=cursor)
        rows = [
            (
                item.offset,
                screen.ago(item.at_ms),
                f"1–{item.upto_offset}",
                f"{item.tokens_before} → {item.tokens_after}",
                item.summary,
            )
            for item in page.items
        ]
        columns = ("offset", "made", "stands for", "tokens", "summary")
        empty = "No checkpoints: the whole session still fits the model's window."
        daemon.show(lambda: screen.table(columns, rows, empty=empty))
        daemon.more(page.next_cursor)
