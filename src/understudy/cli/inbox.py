"""`understudy inbox`: everything that waits for a person."""

from typing import TYPE_CHECKING, Annotated, Final

import typer

from understudy.cli import screen
from understudy.cli.connection import DaemonConnection, command
from understudy.cli.options import PageOptions
from understudy.cli.output import note, understudy

if TYPE_CHECKING:
    from collections.abc import Mapping

    from understudy.inbox.service import InboxItem, InboxKind, InboxPage

KINDS: Final = (
    "approval, question, second_approval, soul_proposal, skill_draft, rollout_step or candidate"
)

# The command that decides about a kind; the inbox lists the ids that it takes.
DECIDE: Final = {
    "approval": "approvals review",
    "question": "questions review",
    "second_approval": "second-approvals approve",
    "soul_proposal": "agents proposals approve",
    "skill_draft": "skills accept",
    "rollout_step": "rollouts advance",
}


def waiting_lines(counts: "Mapping[InboxKind, int]") -> list[str]:
    """How many of each kind but candidates wait, and the commands that list and decide them."""
    return [
        f"{screen.count(number, kind.replace('_', ' '))} waiting: `{understudy()} inbox --kind {kind}`"
        f" lists, `{understudy()} {DECIDE[kind]}` decides"
        for kind, number in counts.items()
        if number and kind in DECIDE
    ]


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
    counts = view.counts.items()
    waiting = [screen.count(number, kind.replace("_", " ")) for kind, number in counts if number]
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
