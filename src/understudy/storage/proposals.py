"""The store of changes to context files that wait for a decision."""

from collections.abc import Sequence
from typing import Any, Final

import sqlalchemy as sa

from understudy.core.page import Page, PageRequest
from understudy.evolution.proposals import Proposal, ProposalState
from understudy.storage.columns import read_record
from understudy.storage.paging import readable, select_page
from understudy.storage.schema import file_proposals as proposals


class ProposalStore:
    """Proposals of all agents."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def get(self, proposal_id: str) -> Proposal | None:
        """One proposal."""
        row = self._connection.execute(_ONE, {"wanted": proposal_id}).first()
        return None if row is None else _read(row)

    def add(self, proposal: Proposal) -> None:
        """Keep a new one."""
        self._connection.execute(sa.insert(proposals).values(_row(proposal)))

    def decide(self, proposal: Proposal) -> bool:
        """Keep what was decided of one that waits; False when it waits no longer."""
        waits = proposals.c.state == str(ProposalState.PENDING)
        statement = (
            sa.update(proposals)
            .where(proposals.c.proposal_id == proposal.proposal_id, waits)
            .values(_row(proposal))
        )
        return self._connection.execute(statement).rowcount == 1

    def waiting(self, agent_id: str, name: str) -> Sequence[Proposal]:
        """Those that wait for a file of an agent, oldest first."""
        values = {"of_agent": agent_id, "file_name": name}
        return readable(self._connection.execute(_WAITING, values).all(), _read)

    def page(
        self, agent_id: str, request: PageRequest, *, state: ProposalState | None = None
    ) -> Page[Proposal]:
        """Those of an agent, newest first."""
        query = sa.select(proposals).where(proposals.c.agent_id == agent_id)
        if state is not None:
            query = query.where(proposals.c.state == str(state))
        return select_page(
            self._connection,
            query,
            request,
            by=(proposals.c.proposal_id,),
            read=_read,
            descending=True,
        )


_ONE: Final = sa.select(proposals).where(proposals.c.proposal_id == sa.bindparam("wanted"))
_WAITING: Final = (
    sa.select(proposals)
    .where(
        proposals.c.agent_id == sa.bindparam("of_agent"),
        proposals.c.state == str(ProposalState.PENDING),
        proposals.c.name == sa.bindparam("file_name"),
    )
    .order_by(proposals.c.proposal_id)
)


def _row(proposal: Proposal) -> dict[str, Any]:
    values = {column.name: getattr(proposal, column.name) for column in proposals.c}
    return {**values, "state": str(proposal.state)}


def _read(row: Any) -> Proposal:
    return read_record(row, _proposal, what=f"proposal {row.proposal_id}")


def _proposal(row: Any) -> Proposal:
    return Proposal(
        proposal_id=row.proposal_id,
        agent_id=row.agent_id,
        name=row.name,
        content=row.content + "",
        base_version=row.base_version,
        state=ProposalState(row.state),
        actor=row.actor,
        run_id=row.run_id,
        created_at_ms=row.created_at_ms,
        decided_by=row.decided_by,
        decided_at_ms=row.decided_at_ms,
        reason=None if row.reason is None else row.reason + "",
        file_version=row.file_version,
    )
