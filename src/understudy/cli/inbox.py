"""`understudy inbox`: everything that waits for a person."""

from typing import TYPE_CHECKING, Annotated, Final

import typer

from understudy.cli import screen
from understudy.cli.connection import DaemonConnection, command
from understudy.cli.options import PageOptions
from understudy.cli.output import note

if TYPE_CHECKING:
    from understudy.inbox.service import InboxItem, InboxPage

KINDS: Final = (
    "approval, question, second_approval, soul_proposal, skill_draft, rollout_step or candidate"
)


def _title(item: "InboxItem") -> str:
    marks = f" ({', '.join(item.tags)})" if item.tags else ""
    return screen.visible_line(item.title) + marks


INBOX_COLUMNS: Final[screen.Layout] = {
    "kind": "kind",
    "id": "id",
    "waits": "created_at_ms",
    "session": "session_id",
    "what": _title,
}


def _tell(view: "InboxPage") -> None:
    screen.records(view.items, INBOX_COLUMNS, empty="Nothing waits for a person.")
    waiting = [f"{number} {kind}" for kind, number in view.counts.items() if number]
    if waiting:
        note(f"waiting: {', '.join(waiting)}")


@command(show=_tell)
def inbox(
    daemon: DaemonConnection,
    page: PageOptions,
    kind: Annotated[str | None, typer.Option(help=f"Only one kind: {KINDS}.")] = None,
) -> object:
    """List what waits for a person: approvals, questions, proposals, skill drafts, rollout steps,
    candidates."""
    return daemon.client.inbox.page(kind=kind, **page)
