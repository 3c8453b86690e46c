"""`understudy agents proposals`: what agents want to change of themselves, and deciding on it."""

from typing import TYPE_CHECKING, Annotated, cast

import typer

from understudy.cli import screen
from understudy.cli.arguments import AgentId, Cursor, Key, Limit
from understudy.cli.connection import connect
from understudy.cli.options import Commands
from understudy.cli.output import note

if TYPE_CHECKING:
    from understudy.wire.proposals import ProposalDetail, ProposalState

commands = Commands("Changes to SOUL.md that wait for a decision (`soul_review` is on).")

ProposalId = Annotated[str, typer.Argument(metavar="PROPOSAL", help="The proposal's id.")]
State = Annotated[
    str | None,
    typer.Option("--state", help="Only pending, approved, rejected or superseded ones."),
]


@commands("list")
def list_proposals(
    ctx: typer.Context,
    agent_id: AgentId,
    state: State = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> None:
    """List proposals, newest first."""
    with connect(ctx) as daemon:
        page = daemon.client.agents.proposals.page(
            agent_id, state=cast("ProposalState | None", state), limit=limit, cursor=cursor
        )
        rows = [
            (
                item.proposal_id,
                item.name,
                item.state,
                item.actor,
                item.run_id,
                screen.ago(item.created_at_ms),
            )
            for item in page.items
        ]
        columns = ("proposal", "file", "state", "for", "run", "made")
        daemon.show(lambda: screen.table(columns, rows, empty="Nothing was proposed."))
        daemon.more(page.next_cursor)


@commands("show", "get")
def show(ctx: typer.Context, agent_id: AgentId, proposal_id: ProposalId) -> None:
    """Show what a proposal would change."""
    with connect(ctx) as daemon:
        view = daemon.client.agents.proposals.get(agent_id, proposal_id)
        daemon.show(lambda: _show(view))


@commands("approve")
def approve(
    ctx: typer.Context, agent_id: AgentId, proposal_id: ProposalId, key: Key = None
) -> None:
    """Put a proposal in force as a new version."""
    with connect(ctx) as daemon:
        view = daemon.client.agents.proposals.approve(agent_id, proposal_id, key=key)
        daemon.show(lambda: note(f"{view.name} of {agent_id} is at version {view.file_version}"))


@commands("reject")
def reject(
    ctx: typer.Context,
    agent_id: AgentId,
    proposal_id: ProposalId,
    reason: Annotated[str | None, typer.Option(help="Why it is not wanted.")] = None,
    key: Key = None,
) -> None:
    """Say no to a proposal; the file stays as it is."""
    with connect(ctx) as daemon:
        view = daemon.client.agents.proposals.reject(agent_id, proposal_id, reason, key=key)
        daemon.show(lambda: note(f"{view.proposal_id} is rejected; {view.name} stays as it is"))


def _show(view: "ProposalDetail") -> None:
    screen.fields(
        [
            ("proposal", view.proposal_id),
            ("file", view.name),
            ("state", f"{view.state}, outdated" if view.outdated else view.state),
            ("made from", f"version {view.base_version}" if view.base_version else "nothing"),
            ("for", view.actor),
            ("run", view.run_id),
            ("made", screen.ago(view.created_at_ms)),
            ("decided by", view.decided_by),
            ("reason", view.reason),
            ("version", view.file_version),
        ]
    )
    screen.document(f"{view.diff or '[no difference]'}\n")
