"""`understudy second-approvals`: pending changes that need a second approver."""

from typing import TYPE_CHECKING, Annotated, Final

import typer

from understudy.cli import screen
from understudy.cli.connection import Commands
from understudy.cli.output import note
from understudy.cli.table import Verb, declare

if TYPE_CHECKING:
    from understudy.runtime.two_people import SecondApproved

commands = Commands("Second approvals: changes that wait for a second person.")
ApprovalId = Annotated[str, typer.Argument(metavar="APPROVAL_ID", help="As `list` shows it.")]

COLUMNS: Final[screen.Layout] = {
    "id": "approval_id",
    "subject": "subject",
    "operation": "operation",
    "what": lambda item: screen.compact({**item.values, "body": item.body}),
    "proposed by": "proposed_by",
    "first": "first_by",
    "until": lambda item: screen.ahead(item.expires_at_ms),
}


def _approved(view: "SecondApproved") -> None:
    told = "approved by two people and done" if view.done else "approved; it waits for one more"
    note(f"{view.approval_id} is {told}")


declare(
    commands,
    Verb(
        names="list",
        call="second_approvals.page",
        show=COLUMNS,
        empty="No change waits for a second person.",
    ),
    Verb(names="approve", call="second_approvals.approve", show=_approved),
    Verb(names="withdraw", call="second_approvals.withdraw", show="{approval_id} is withdrawn"),
)
