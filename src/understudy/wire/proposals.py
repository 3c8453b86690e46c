"""Changes to context files that wait for a decision, on the wire."""

from pydantic import Field

from understudy.evolution.proposals import ProposalState
from understudy.wire.base import Omitted, RequestBody, View


class RejectProposal(RequestBody):
    """Why it is not wanted."""

    reason: str | None = Field(default=None, max_length=1000)


class ProposalView(View):
    """What a run wants a file of its agent to become; `base_version` is 0 where there was none."""

    proposal_id: str
    agent_id: str
    name: str
    state: ProposalState
    base_version: int
    actor: str
    run_id: str
    size: int
    created_at_ms: int
    decided_by: Omitted[str] = None
    decided_at_ms: Omitted[int] = None
    reason: Omitted[str] = None
    file_version: Omitted[int] = None
    actions: list[str]


class ProposalDetail(ProposalView):
    """The same with its text, and what it changes of the version it was made from."""

    content: str
    diff: str
    outdated: bool
