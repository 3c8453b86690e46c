"""Reading the record of how an agent evolved, as far as the reader may know of it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from understudy.agents.model import SOUL, require_agent
from understudy.core.errors import DamagedRecord
from understudy.core.line_diff import Effort
from understudy.core.page import Page, PageRequest
from understudy.core.principal import Principal, Role
from understudy.evolution.record import (
    Entry,
    EntryKind,
    Nudged,
    OfferMade,
    RecordPlace,
    SkillMade,
    SoulProposed,
    SoulWritten,
)
from understudy.evolution.text_diff import PAGE_STEPS, text_diff_within
from understudy.skills.authority import knows

if TYPE_CHECKING:
    from understudy.storage.unit import Unit, Units

# What waits for an admin's decision, only admins see.
NEEDED: Final[Mapping[EntryKind, Role]] = {EntryKind.PROPOSAL: Role.ADMIN}


@dataclass(frozen=True, slots=True)
class EvolutionRecord:
    """What happened to agents."""

    units: "Units"

    def page(
        self,
        principal: Principal,
        agent_id: str,
        request: PageRequest,
        *,
        kind: EntryKind | None = None,
    ) -> Page[Entry]:
        """Entries newest first, all or of one kind; a page may hold fewer than were asked for."""
        wanted = EntryKind if kind is None else (kind,)
        kinds = [each for each in wanted if principal.role.includes(NEEDED.get(each, Role.VIEWER))]
        with self.units.read() as unit:
            require_agent(unit, agent_id)
            places = unit.evolution.page(agent_id, request, kinds=kinds)
            found = [_entry_at(unit, principal, agent_id, place) for place in places.items]
        effort = Effort(PAGE_STEPS)
        return Page(
            items=tuple(make(effort) for make in found if make is not None),
            next_cursor=places.next_cursor,
        )


# Makes the entry once nothing is read any more: comparing texts takes time that no unit is held for.
_MakeEntry = Callable[[Effort], Entry]


def _entry_at(
    unit: "Unit", principal: Principal, agent_id: str, place: RecordPlace
) -> _MakeEntry | None:
    """What lies at a place; None where it cannot be read, or this reader may not know of it."""
    try:
        return _READ[place.kind](unit, principal, agent_id, place)
    except DamagedRecord:
        return None


def _soul(unit: "Unit", _: Principal, agent_id: str, place: RecordPlace) -> _MakeEntry | None:
    file = unit.agents.file(agent_id, SOUL, version=place.number)
    if file is None:
        return None
    before = _text(unit, agent_id, file.version - 1)
    return lambda effort: SoulWritten(
        file=file, diff=text_diff_within(effort, before, file.content, SOUL)
    )


def _proposal(unit: "Unit", _: Principal, agent_id: str, place: RecordPlace) -> _MakeEntry | None:
    proposal = unit.proposals.get(place.id)
    if proposal is None:
        return None
    before = _text(unit, agent_id, proposal.base_version)
    return lambda effort: SoulProposed(
        proposal=proposal, diff=text_diff_within(effort, before, proposal.content, SOUL)
    )


def _text(unit: "Unit", agent_id: str, version: int) -> str | None:
    """What SOUL.md said in a version; None where there is none."""
    file = unit.agents.file(agent_id, SOUL, version=version) if version > 0 else None
    return None if file is None else file.content


def _nudge(unit: "Unit", _: Principal, __: str, place: RecordPlace) -> _MakeEntry | None:
    event = unit.evolution.event(place.number)
    return None if event is None else lambda _: Nudged(event=event)


def _offer(unit: "Unit", _: Principal, __: str, place: RecordPlace) -> _MakeEntry | None:
    offer = unit.requests.get(place.id)
    return None if offer is None else lambda _: OfferMade(offer=offer)


def _skill(unit: "Unit", principal: Principal, _: str, place: RecordPlace) -> _MakeEntry | None:
    skill = unit.skills.get(place.id)
    version = None if skill is None else unit.skills.version(skill.skill_id, place.number)
    if skill is None or version is None or not knows(unit, skill, principal):
        return None
    before = unit.skills.version(skill.skill_id, version.number - 1)
    return lambda _: SkillMade(skill=skill, version=version, is_new=before is None)


_Read = Callable[["Unit", Principal, str, RecordPlace], _MakeEntry | None]
_READ: Final[Mapping[EntryKind, _Read]] = {
    EntryKind.SOUL_VERSION: _soul,
    EntryKind.PROPOSAL: _proposal,
    EntryKind.NUDGE: _nudge,
    EntryKind.OFFER: _offer,
    EntryKind.SKILL_VERSION: _skill,
}
