"""Use cases of proposals: looking at what agents want to change, and deciding on it."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from understudy.agents.file_versions import NewVersion, keep_version, number_of
from understudy.agents.ownership import require_owned
from understudy.core import audit
from understudy.core.clock import Clock
from understudy.core.errors import coded_error
from understudy.core.page import Page, PageRequest
from understudy.core.principal import Principal
from understudy.evolution.proposal_intake import supersede
from understudy.evolution.proposals import PROPOSAL, FileProposal, ProposalState, require_proposal
from understudy.evolution.text_diff import text_diff

if TYPE_CHECKING:
    from understudy.storage.unit import Unit, Units

MAX_REASON_CHARS = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownProposal:
    """A proposal with what it would change of the file as it is in force."""

    proposal: FileProposal
    diff: str
    # The file was changed since; it can only be rejected.
    is_outdated: bool

    @property
    def actions(self) -> tuple[str, ...]:
        """What a person can do with it now."""
        actions = self.proposal.actions
        return tuple(each for each in actions if each != "approve" or not self.is_outdated)


@dataclass(frozen=True, slots=True)
class ProposalService:
    """Lists proposals, shows them, and decides on them in the name of a person."""

    units: "Units"
    clock: Clock

    def page(
        self,
        principal: Principal,
        agent_id: str,
        request: PageRequest,
        *,
        state: ProposalState | None = None,
    ) -> Page[FileProposal]:
        """Those of an agent, newest first."""
        with self.units.read() as unit:
            require_owned(unit, principal, agent_id)
            return unit.proposals.page(agent_id, request, state=state)

    def get(self, principal: Principal, agent_id: str, proposal_id: str) -> ShownProposal:
        """One of them with its diff."""
        with self.units.read() as unit:
            require_owned(unit, principal, agent_id)
            proposal = require_proposal(unit, agent_id, proposal_id)
            base = unit.agents.file(agent_id, proposal.name, version=proposal.base_version)
            version = _version(unit, proposal)
        waits = proposal.state is ProposalState.PENDING
        return ShownProposal(
            proposal=proposal,
            diff=text_diff(base.content if base else None, proposal.content, proposal.name),
            is_outdated=waits and version != proposal.base_version,
        )

    def approve(self, principal: Principal, agent_id: str, proposal_id: str) -> FileProposal:
        """Put it in force as a new version; others that wait for the same file are overtaken."""
        with self.units.write() as unit:
            require_owned(unit, principal, agent_id)
            proposal = require_proposal(unit, agent_id, proposal_id)
            PROPOSAL.check(proposal.state, ProposalState.APPROVED)
            if proposal.state is ProposalState.APPROVED:
                return proposal
            if _version(unit, proposal) != proposal.base_version:
                raise coded_error("evolution/proposal_outdated", name=proposal.name)
            file = keep_version(unit, self.clock, principal, _new_version(proposal))
            decided = self._decided(principal, proposal, ProposalState.APPROVED)
            decided = replace(decided, file_version=file.version)
            self._keep(unit, principal, decided, "agents.approve_proposal")
            for other in unit.proposals.waiting(agent_id, proposal.name):
                supersede(unit, other, at_ms=file.created_at_ms)
            return decided

    def reject(
        self, principal: Principal, agent_id: str, proposal_id: str, *, reason: str | None = None
    ) -> FileProposal:
        """Say no to it; the file stays as it is."""
        if reason is not None and len(reason) > MAX_REASON_CHARS:
            raise coded_error(
                "evolution/invalid_reason", pointer="/reason", max_reason_chars=MAX_REASON_CHARS
            )
        with self.units.write() as unit:
            require_owned(unit, principal, agent_id)
            proposal = require_proposal(unit, agent_id, proposal_id)
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
    """The version of the file now; 0 where there is none."""
    return number_of(unit.agents.file(proposal.agent_id, proposal.name))


def _new_version(proposal: FileProposal) -> NewVersion:
    return NewVersion(
        agent_id=proposal.agent_id,
        name=proposal.name,
        content=proposal.content,
        run_id=proposal.run_id,
        author=proposal.actor,
        made_from=proposal.base_version,
    )
