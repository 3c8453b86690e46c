"""Switches and the record of evolution as the wire shows them."""

from collections.abc import Mapping
from typing import Any, Final, Literal, TypeAlias, assert_never

from understudy.evolution.record import (
    Entry,
    Nudged,
    OfferMade,
    SkillMade,
    SoulProposed,
    SoulWritten,
)
from understudy.evolution.switch_costs import SwitchInForce
from understudy.runs.requests import RequestState
from understudy.wire.evolution import (
    CostView,
    EvolutionEntry,
    NudgeEntry,
    OfferEntry,
    ProposalEntry,
    SkillVersionEntry,
    SoulVersionEntry,
    SwitchView,
)

OfferState: TypeAlias = Literal["offered", "accepted", "declined", "expired", "superseded"]
# What is made of an offer, in the words of offers.
OFFERED: Final[Mapping[RequestState, OfferState]] = {
    RequestState.PENDING: "offered",
    RequestState.ALLOWED: "accepted",
    RequestState.DENIED: "declined",
    RequestState.EXPIRED: "expired",
    RequestState.CANCELLED: "superseded",
}


def switch_view(switch: SwitchInForce) -> SwitchView:
    """A switch, and what it costs."""
    costs = [CostView(part=cost.part, when=cost.when, tokens=cost.tokens) for cost in switch.costs]
    return SwitchView(name=switch.name, value=switch.value, on=switch.is_on, costs=costs)


def entry_view(entry: Entry) -> EvolutionEntry:
    """One thing that happened to an agent."""
    match entry:
        case SoulWritten():
            return _soul(entry)
        case SoulProposed():
            return _proposal(entry)
        case Nudged():
            return _nudge(entry)
        case OfferMade():
            return _offer(entry)
        case SkillMade():
            return _skill(entry)
        case _:
            assert_never(entry)


def _soul(entry: SoulWritten) -> SoulVersionEntry:
    file = entry.file
    return SoulVersionEntry(
        at_ms=file.created_at_ms,
        version=file.version,
        actor=file.actor,
        run_id=file.run_id,
        size=file.size,
        deleted=file.deleted,
        diff=entry.diff,
        diff_omitted=entry.diff is None,
    )


def _proposal(entry: SoulProposed) -> ProposalEntry:
    proposal = entry.proposal
    return ProposalEntry(
        at_ms=proposal.created_at_ms,
        proposal_id=proposal.proposal_id,
        state=proposal.state.value,
        base_version=proposal.base_version,
        actor=proposal.actor,
        run_id=proposal.run_id,
        diff=entry.diff,
        diff_omitted=entry.diff is None,
        decided_by=proposal.decided_by,
        decided_at_ms=proposal.decided_at_ms,
        reason=proposal.reason,
        file_version=proposal.file_version,
    )


def _nudge(entry: Nudged) -> NudgeEntry:
    event, told = entry.event, entry.event.data
    step = told.get("step")
    return NudgeEntry(
        at_ms=event.at_ms,
        nudge=str(told.get("nudge", "")),
        step=step if isinstance(step, int) else None,
        locale=_text(told, "locale"),
        run_id=event.run_id,
        session_id=event.session_id,
    )


def _offer(entry: OfferMade) -> OfferEntry:
    offer = entry.offer
    return OfferEntry(
        at_ms=offer.created_at_ms,
        offer_id=offer.request_id,
        state=OFFERED[offer.state],
        question=str(offer.body.get("reason", "")),
        purpose=_text(offer.body, "purpose"),
        origin=_text(offer.body, "origin"),
        user_id=offer.user_id,
        run_id=offer.run_id,
        session_id=offer.session_id,
        answered_by=offer.resolved_by,
        answered_at_ms=offer.resolved_at_ms,
        via=_text(offer.resolution or {}, "via"),
    )


def _skill(entry: SkillMade) -> SkillVersionEntry:
    return SkillVersionEntry(
        at_ms=entry.version.created_at_ms,
        skill_id=entry.skill.skill_id,
        slug=entry.skill.slug,
        version=entry.version.number,
        created=entry.is_new,
        actor=entry.version.actor,
        run_id=entry.version.run_id,
    )


def _text(told: Mapping[str, Any], name: str) -> str | None:
    value = told.get(name)
    return value if isinstance(value, str) else None
