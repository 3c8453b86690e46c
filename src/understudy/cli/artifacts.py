"""`understudy runs artifacts`: what tools answered in full."""

from typing import Annotated

import typer

from understudy.cli import screen
from understudy.cli.arguments import Cursor, Limit, RunId
from understudy.cli.connection import connect
from understudy.cli.options import Commands

commands = Commands("Runs: what their tools answered in full.")


@commands("artifacts")
def artifacts(
    ctx: typer.Context,
    run_id: RunId,
    artifact_id: Annotated[
        str | None, typer.Argument(metavar="[ARTIFACT]", help="Print the text of this one.")
    ] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> None:
    """List the long answers of a run's tools, of which the model was shown a part; or print one."""
    with connect(ctx) as daemon:
        if artifact_id is not None:
            text = daemon.client.runs.artifact(run_id, artifact_id)
            # The API answers with the text itself, which is no JSON.
            daemon.answer = {"run_id": run_id, "artifact_id": artifact_id, "text": text}
            daemon.show(lambda: screen.document(text))
            return
        page = daemon.client.runs.artifacts_page(run_id, limit=limit, cursor=cursor)
        rows = [
            (each.artifact_id, each.tool_name, each.size, screen.ago(each.created_at_ms))
            for each in page.items
        ]
        columns = ("artifact", "tool", "bytes", "made")
        empty = "No tool of this run answered more than the model was shown."
        daemon.show(lambda: screen.table(columns, rows, empty=empty))
        daemon.more(page.next_cursor)
