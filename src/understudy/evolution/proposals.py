"""Proposals: changes to context files that a person approves or rejects."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from understudy.agents.file_versions import NewVersion, keep_version, number_of, stored_version
from understudy.agents.ownership import require_owned
from understudy.core import audit
from understudy.core.clock import Clock
from understudy.core.errors import Rejected, coded_error
from understudy.core.ids import new_id
from understudy.core.machine import Machine
from understudy.core.page import Page, PageRequest
from understudy.core.principal import Principal, Role
from understudy.evolution.text_diff import text_diff

if TYPE_CHECKING:
    from understudy.storage.unit import Unit, Units

# The limit of pending proposals for one file of an agent.
MAX_WAITING: Final = 50
MAX_REASON_CHARS = 1000


class ProposalState(StrEnum):
    """The state of a proposal."""

    PENDING = "pending"
    APPROVED = "approved"
    REJECTED = "rejected"
    # Replaced by another proposal, or by a new version of the file.
    SUPERSEDED = "superseded"


PROPOSAL: Final = Machine(
    name="proposal",
    steps={
        ProposalState.PENDING: frozenset(
            {ProposalState.APPROVED, ProposalState.REJECTED, ProposalState.SUPERSEDED}
        ),
        ProposalState.APPROVED: frozenset(),
        ProposalState.REJECTED: frozenset(),
        ProposalState.SUPERSEDED: frozenset(),
    },
    conflict_code="proposal_state_conflict",
    domain="evolution",
)
# The decisions of a person, by the state that they lead to.
ACTIONS: Final = {ProposalState.APPROVED: "approve", ProposalState.REJECTED: "reject"}


@dataclass(frozen=True, slots=True, kw_only=True)
class FileProposal:
    """A new text of a context file that a run proposes, and the decision."""

    proposal_id: str
    agent_id: str
    name: str
    content: str
    # The version that it was made from; 0 where there was none.
    base_version: int
    state: ProposalState
    # The user that the run worked for.
    actor: str
    run_id: str
    created_at_ms: int
    decided_by: str | None = None
    decided_at_ms: int | None = None
    reason: str | None = None
    # The version that the approval made.
    file_version: int | None = None
    # The user whose copy it is for; None: the agent's own file.
    user_id: str | None = None
    # The untrusted sources of the proposing run.
    untrusted_sources: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        """The bytes of the content."""
        return len(self.content.encode())

    @property
    def actions(self) -> tuple[str, ...]:
        """The decisions that a person can take now."""
        return tuple(ACTIONS[to] for to in PROPOSAL.allowed(self.state) if to in ACTIONS)


def require_proposal(unit: "Unit", agent_id: str, proposal_id: str) -> FileProposal:
    """A proposal for this agent, or `NotFound`."""
    proposal = unit.proposals.get(proposal_id)
    if proposal is None or proposal.agent_id != agent_id:
        raise coded_error("evolution/proposal_not_found", proposal_id=proposal_id)
    return proposal


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposedFile:
    """The text that a run proposes for a file of its agent."""

    agent_id: str
    name: str
    content: str
    base_version: int
    run_id: str
    user_id: str | None = None
    untrusted_sources: tuple[str, ...] = ()

    def is_that_of(self, proposal: FileProposal) -> bool:
        """Whether the proposal has the same text already."""
        return (proposal.run_id, proposal.content, proposal.base_version) == (
            self.run_id,
            self.content,
            self.base_version,
        )

    def overtakes(self, proposal: FileProposal) -> bool:
        """Whether it supersedes a proposal: one of the same run, or one of another base version,
        which can no longer be approved."""
        return proposal.run_id == self.run_id or proposal.base_version != self.base_version


def draft_of(
    unit: "Unit", agent_id: str, name: str, run_id: str, *, user_id: str | None = None
) -> FileProposal | None:
    """The pending proposal of a run for a file, or for the copy of a user."""
    waiting = unit.proposals.waiting(agent_id, name, user_id=user_id)
    own = [each for each in waiting if each.run_id == run_id]
    return own[-1] if own else None


def propose(
    unit: "Unit", clock: Clock, principal: Principal, proposed: ProposedFile
) -> FileProposal:
    """Add a pending proposal; supersedes the former one of the same run."""
    now = clock.now_ms()
    waiting = 0
    others = unit.proposals.waiting(proposed.agent_id, proposed.name, user_id=proposed.user_id)
    for each in others:
        if proposed.is_that_of(each):
            return each
        if proposed.overtakes(each):
            supersede(unit, each, at_ms=now)
        else:
            waiting += 1
    _check_room(proposed, waiting)
    proposal = FileProposal(
        proposal_id=new_id("prp"),
        agent_id=proposed.agent_id,
        name=proposed.name,
        content=proposed.content,
        base_version=proposed.base_version,
        state=ProposalState.PENDING,
        actor=principal.actor,
        run_id=proposed.run_id,
        created_at_ms=now,
        user_id=proposed.user_id,
        untrusted_sources=proposed.untrusted_sources,
    )
    unit.proposals.insert(proposal)
    unit.audit.add(
        audit.done(
            principal,
            "agents.propose_file",
            f"{proposed.agent_id}/{proposed.name}",
            at_ms=now,
            reason=f"{proposal.proposal_id} in {proposed.run_id}",
        )
    )
    return proposal


def _check_room(proposed: ProposedFile, waiting: int) -> None:
    if waiting >= MAX_WAITING:
        raise coded_error("evolution/proposals_full", waiting=waiting, name=proposed.name)


def supersede(unit: "Unit", proposal: FileProposal, *, at_ms: int) -> None:
    """Supersede a proposal that another one, or a new version of the file, has replaced."""
    PROPOSAL.check(proposal.state, ProposalState.SUPERSEDED)
    unit.proposals.decide(replace(proposal, state=ProposalState.SUPERSEDED, decided_at_ms=at_ms))


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownProposal:
    """A proposal with its diff against the base version."""

    proposal: FileProposal
    # The text of the base version; empty where there was none.
    base: str
    diff: str
    # The file has a newer version: the proposal can only be rejected.
    is_outdated: bool

    @property
    def actions(self) -> tuple[str, ...]:
        """The decisions that a person can take now."""
        actions = self.proposal.actions
        return tuple(each for each in actions if each != "approve" or not self.is_outdated)


@dataclass(frozen=True, slots=True)
class ProposalService:
    """Lists and shows proposals, and decides on them for a person."""

    units: "Units"
    clock: Clock
    # Called in the transaction of an approval; what it raises takes the approval back.
    applied: Callable[["Unit", FileProposal], None] = lambda _, __: None

    def page(
        self,
        principal: Principal,
        agent_id: str,
        request: PageRequest,
        *,
        state: ProposalState | None = None,
    ) -> Page[FileProposal]:
        """The proposals of an agent, newest first."""
        with self.units.read() as unit:
            whose = _whose(unit, principal, agent_id)
            found = unit.proposals.page(agent_id, request, state=state, user_id=whose)
            if whose is not None and not found.items:
                # As if nothing had been proposed for a copy of theirs.
                require_owned(unit, principal, agent_id)
            return found

    def get(self, principal: Principal, agent_id: str, proposal_id: str) -> ShownProposal:
        """One proposal with its diff."""
        with self.units.read() as unit:
            proposal = _decidable(unit, principal, agent_id, proposal_id)
            base = stored_version(
                unit, agent_id, proposal.user_id, proposal.name, proposal.base_version
            )
            version = _version(unit, proposal)
        waits = proposal.state is ProposalState.PENDING
        return ShownProposal(
            proposal=proposal,
            base=base.content if base else "",
            diff=text_diff(base.content if base else None, proposal.content, proposal.name),
            is_outdated=waits and version != proposal.base_version,
        )

    def approve(self, principal: Principal, agent_id: str, proposal_id: str) -> FileProposal:
        """Approve a proposal: it becomes a new version, and others for the file are superseded."""
        with self.units.write() as unit:
            proposal = _decidable(unit, principal, agent_id, proposal_id)
            PROPOSAL.check(proposal.state, ProposalState.APPROVED)
            if proposal.state is ProposalState.APPROVED:
                return proposal
            if _version(unit, proposal) != proposal.base_version:
                raise coded_error("evolution/proposal_outdated", name=proposal.name)
            file = keep_version(unit, self.clock, principal, _new_version(proposal, principal))
            self.applied(unit, proposal)
            decided = self._decided(principal, proposal, ProposalState.APPROVED)
            decided = replace(decided, file_version=file.version)
            self._keep(unit, principal, decided, "agents.approve_proposal")
            waiting = unit.proposals.waiting(agent_id, proposal.name, user_id=proposal.user_id)
            for other in waiting:
                supersede(unit, other, at_ms=file.created_at_ms)
            return decided

    def reject(
        self, principal: Principal, agent_id: str, proposal_id: str, *, reason: str | None = None
    ) -> FileProposal:
        """Reject a proposal; the file stays as it is."""
        if reason is not None and len(reason) > MAX_REASON_CHARS:
            raise coded_error(
                "evolution/invalid_reason", pointer="/reason", max_reason_chars=MAX_REASON_CHARS
            )
        with self.units.write() as unit:
            proposal = _decidable(unit, principal, agent_id, proposal_id)
            PROPOSAL.check(proposal.state, ProposalState.REJECTED)
            if proposal.state is ProposalState.REJECTED:
                return proposal
            decided = self._decided(principal, proposal, ProposalState.REJECTED)
            decided = replace(decided, reason=reason)
            self._keep(unit, principal, decided, "agents.reject_proposal")
            return decided

    def _decided(
        self, principal: Principal, proposal: FileProposal, state: ProposalState
    ) -> FileProposal:
        return replace(
            proposal,
            state=state,
            decided_by=principal.actor,
            decided_at_ms=self.clock.now_ms(),
        )

    def _keep(self, unit: "Unit", principal: Principal, decided: FileProposal, action: str) -> None:
        if not unit.proposals.decide(decided):
            raise coded_error("evolution/proposal_state_conflict")
        unit.audit.add(
            audit.done(
                principal,
                action,
                f"{decided.agent_id}/{decided.proposal_id}",
                at_ms=self.clock.now_ms(),
                version=decided.file_version,
            )
        )


def _version(unit: "Unit", proposal: FileProposal) -> int:
    """The current version of the file; 0 without one."""
    stored = stored_version(unit, proposal.agent_id, proposal.user_id, proposal.name)
    return number_of(stored)


def _whose(unit: "Unit", principal: Principal, agent_id: str) -> str | None:
    """The user whose proposals a caller decides on: None for all of an agent, else their own."""
    try:
        require_owned(unit, principal, agent_id)
    except Rejected:
        if principal.role.includes(Role.OPERATOR):
            return principal.user_id
        raise
    return None


def _decidable(unit: "Unit", principal: Principal, agent_id: str, proposal_id: str) -> FileProposal:
    """A proposal that the caller may decide on, or `NotFound`, or the refusal."""
    whose = _whose(unit, principal, agent_id)
    proposal = unit.proposals.get(proposal_id)
    if whose is not None and (proposal is None or proposal.user_id != whose):
        # A caller who decides only on their own copies does not learn which other proposals exist.
        require_owned(unit, principal, agent_id)
    return require_proposal(unit, agent_id, proposal_id)


def _new_version(proposal: FileProposal, principal: Principal) -> NewVersion:
    return NewVersion(
        user_id=proposal.user_id,
        reviewed_by=principal.actor,
        agent_id=proposal.agent_id,
        name=proposal.name,
        content=proposal.content,
        run_id=proposal.run_id,
        author=proposal.actor,
        made_from=proposal.base_version,
    )
