"""`understudy second-approvals`: changes that one person approved and that wait for another."""

from typing import Annotated, Final

import typer

from understudy.cli import screen
from understudy.cli.connection import Commands, DaemonConnection
from understudy.cli.options import PageOptions

commands = Commands("Second approvals: changes that wait for a second person.")
ApprovalId = Annotated[str, typer.Argument(metavar="APPROVAL_ID", help="As `list` shows it.")]

COLUMNS: Final[screen.Layout] = {
    "id": "approval_id",
    "subject": "subject",
    "operation": "operation",
    "what": lambda item: screen.compact({**item.values, "body": item.body}),
    "first": "first_by",
    "until": "expires_at_ms",
}


@commands("list", show=COLUMNS, empty="No change waits for a second person.")
def list_waiting(daemon: DaemonConnection, page: PageOptions) -> object:
    """List what waits, oldest first."""
    return daemon.client.second_approvals.page(**page)


@commands("approve", show="{approval_id} is approved by two people and done")
def approve(daemon: DaemonConnection, approval_id: ApprovalId) -> object:
    """Approve a change as the second person; it is made at once."""
    return daemon.client.second_approvals.approve(approval_id)


@commands("withdraw", show="{approval_id} is withdrawn")
def withdraw(daemon: DaemonConnection, approval_id: ApprovalId) -> None:
    """Take a change back that you approved first; an admin takes any back."""
    daemon.client.second_approvals.withdraw(approval_id)
