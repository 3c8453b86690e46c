"""`understudy runs deliveries` and `retry-delivery`: what was sent to webhooks."""

from typing import TYPE_CHECKING, Annotated

import typer

from understudy.cli import screen
from understudy.cli.arguments import Cursor, Limit, RunId
from understudy.cli.connection import connect
from understudy.cli.options import Commands
from understudy.cli.output import note

if TYPE_CHECKING:
    from understudy.wire.replies import DeliveryLogView, DeliveryTryView

commands = Commands("Runs: how their outputs fared at their reply targets.")


@commands("deliveries")
def deliveries(ctx: typer.Context, run_id: RunId, limit: Limit = 50, cursor: Cursor = None) -> None:
    """List what was sent to the reply targets of a run, try by try."""
    with connect(ctx) as daemon:
        page = daemon.client.deliveries.page(run_id, limit=limit, cursor=cursor)
        rows = [row for item in page.items for row in rows_of(item)]
        columns = ("delivery", "status", "try", "when", "outcome", "target", "next try", "why")
        empty = "This run has no reply targets."
        daemon.show(lambda: screen.table(columns, rows, empty=empty))
        daemon.more(page.next_cursor)


@commands("retry-delivery")
def retry(
    ctx: typer.Context,
    run_id: RunId,
    delivery_id: Annotated[
        str, typer.Argument(metavar="DELIVERY", help="Its id, as `deliveries` shows.")
    ],
) -> None:
    """Have a dead delivery tried again."""
    with connect(ctx) as daemon:
        daemon.client.deliveries.retry(run_id, delivery_id)
        daemon.show(lambda: note(f"delivery {delivery_id} is tried again"))


def rows_of(item: "DeliveryLogView") -> list[tuple[object, ...]]:
    """A line for each try, the last one with the next; one that was not tried has its own line."""
    target = f"{item.plugin}:{item.address}"
    about = (item.delivery_id or "–", item.status)
    upcoming = screen.ahead(item.next_attempt_at_ms)
    if not item.tries:
        never = (item.attempts, screen.ago(None), "–")
        return [(*about, *never, target, upcoming, item.last_error)]
    *earlier, last = item.tries
    return [
        (*about, each.attempt, screen.ago(each.at_ms), _outcome(each), target, after, each.error)
        for each, after in (*((each, None) for each in earlier), (last, upcoming))
    ]


def _outcome(each: "DeliveryTryView") -> str:
    return f"{each.outcome} ({each.status_code})" if each.status_code else each.outcome
