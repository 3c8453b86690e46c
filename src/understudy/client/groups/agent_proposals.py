"""Calls about what agents propose for their context files."""

from collections.abc import Iterator

from understudy.client.calls import at, get, given, post
from understudy.client.groups.resource import Resource, every
from understudy.wire.base import Items
from understudy.wire.proposals import ProposalDetail, ProposalState, ProposalView

_view = ProposalView.model_validate


class AgentProposals(Resource):
    """Changes that wait until an admin has decided."""

    def page(
        self,
        agent_id: str,
        *,
        state: ProposalState | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Items[ProposalView]:
        """Some proposals, newest first."""
        path, read = at("agents", agent_id, "proposals"), Items[ProposalView].model_validate
        return self.transport.send(
            get(path, read, **given(state=state, limit=limit, cursor=cursor))
        )

    def list(self, agent_id: str, *, state: ProposalState | None = None) -> Iterator[ProposalView]:
        """All of them, newest first."""
        return every(lambda cursor: self.page(agent_id, state=state, cursor=cursor))

    def get(self, agent_id: str, proposal_id: str) -> ProposalDetail:
        """One with its text and what it changes."""
        path = at("agents", agent_id, "proposals", proposal_id)
        return self.transport.send(get(path, ProposalDetail.model_validate))

    def approve(self, agent_id: str, proposal_id: str, *, key: str | None = None) -> ProposalView:
        """Put it in force."""
        path = at("agents", agent_id, "proposals", proposal_id, "approve")
        return self.transport.send(post(path, _view, {}, key=key))

    def reject(
        self, agent_id: str, proposal_id: str, reason: str | None = None, *, key: str | None = None
    ) -> ProposalView:
        """Say no to it."""
        path = at("agents", agent_id, "proposals", proposal_id, "reject")
        return self.transport.send(post(path, _view, given(reason=reason), key=key))
