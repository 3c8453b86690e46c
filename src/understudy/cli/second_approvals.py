"""`understudy second-approvals`: pending changes that need a second approver."""

from typing import TYPE_CHECKING, Annotated, Final

import typer

from understudy.cli import screen
from understudy.cli.connection import Commands, DaemonConnection
from understudy.cli.options import PageOptions
from understudy.cli.output import note

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


@commands("list", show=COLUMNS, empty="No change waits for a second person.")
def list_waiting(daemon: DaemonConnection, page: PageOptions) -> object:
    """List what waits, oldest first."""
    return daemon.client.second_approvals.page(**page)


def _approved(view: "SecondApproved") -> None:
    told = "approved by two people and done" if view.done else "approved; it waits for one more"
    note(f"{view.approval_id} is {told}")


@commands("approve", show=_approved)
def approve(daemon: DaemonConnection, approval_id: ApprovalId) -> object:
    """Approve a change; with the second approval it is made at once."""
    return daemon.client.second_approvals.approve(approval_id)


@commands("withdraw", show="{approval_id} is withdrawn")
def withdraw(daemon: DaemonConnection, approval_id: ApprovalId) -> None:
    """Take a change back that you proposed or approved first; an admin takes any back."""
    daemon.client.second_approvals.withdraw(approval_id)
