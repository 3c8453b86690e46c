"""The evolution record of an agent: one entry for each change, newest first."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, TypeAlias

from pydantic import Field

from understudy.agents.model import SOUL, require_agent
from understudy.core.errors import DamagedRecord
from understudy.core.line_diff import Effort
from understudy.core.page import Page, PageRequest
from understudy.core.principal import Principal, Role
from understudy.core.records import OMIT
from understudy.evolution.proposals import ProposalState
from understudy.evolution.text_diff import PAGE_STEPS, text_diff_within
from understudy.runs.requests import RequestState
from understudy.skills.access import knows, owns_or_administers

if TYPE_CHECKING:
    from understudy.storage.unit import Unit, Units


class EntryKind(StrEnum):
    """The kind of an entry."""

    SOUL_VERSION = "soul_version"  # SOUL.md was written, by a run or by a person
    PROPOSAL = "proposal"  # a run wants SOUL.md to change, and somebody decides
    NUDGE = "nudge"  # a run was reminded of skills
    OFFER = "offer"  # a user was asked whether to keep something, and answered or not
    SKILL_VERSION = "skill_version"  # a run made or changed a skill


class OfferState(StrEnum):
    """The state of an offer in the record."""

    OFFERED = "offered"
    ACCEPTED = "accepted"
    DECLINED = "declined"
    EXPIRED = "expired"
    SUPERSEDED = "superseded"


# The role that may read entries of a kind; viewers read the others.
NEEDED: Final[Mapping[EntryKind, Role]] = {EntryKind.PROPOSAL: Role.ADMIN}
OFFER_STATES: Final[Mapping[RequestState, OfferState]] = {
    RequestState.PENDING: OfferState.OFFERED,
    RequestState.ALLOWED: OfferState.ACCEPTED,
    RequestState.DENIED: OfferState.DECLINED,
    RequestState.EXPIRED: OfferState.EXPIRED,
    RequestState.CANCELLED: OfferState.SUPERSEDED,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryRef:
    """A reference to the record of an entry."""

    kind: EntryKind
    at_ms: int
    id: str
    # The number of a version, or of an event among all events.
    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SoulVersionEntry:
    """SOUL.md was written; `diff` is against the version before, and may be left out of a page."""

    kind: Literal[EntryKind.SOUL_VERSION] = EntryKind.SOUL_VERSION
    at_ms: int
    version: int
    actor: str
    run_id: Annotated[str | None, OMIT] = None
    size: int
    # Whether this version took the file out of force.
    deleted: bool = False
    diff: str | None
    # Whether this diff was left out because earlier ones used up the time of the page.
    diff_omitted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalEntry:
    """A run wanted SOUL.md to change; `diff` is against the version that it was made from.

    The diff may be left out of a page.
    """

    kind: Literal[EntryKind.PROPOSAL] = EntryKind.PROPOSAL
    at_ms: int
    proposal_id: str
    state: ProposalState
    base_version: int
    actor: str
    run_id: str
    diff: str | None
    # Whether this diff was left out because earlier ones used up the time of the page.
    diff_omitted: bool = False
    decided_by: Annotated[str | None, OMIT] = None
    decided_at_ms: Annotated[int | None, OMIT] = None
    reason: Annotated[str | None, OMIT] = None
    file_version: Annotated[int | None, OMIT] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NudgeEntry:
    """A run was reminded of skills: with which nudge, and before which step."""

    kind: Literal[EntryKind.NUDGE] = EntryKind.NUDGE
    at_ms: int
    nudge: str
    step: Annotated[int | None, OMIT] = None
    locale: Annotated[str | None, OMIT] = None
    run_id: Annotated[str | None, OMIT] = None
    session_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferEntry:
    """A user was asked something, and answered or not."""

    kind: Literal[EntryKind.OFFER] = EntryKind.OFFER
    at_ms: int
    offer_id: str
    state: OfferState
    question: str
    purpose: Annotated[str | None, OMIT] = None
    origin: Annotated[str | None, OMIT] = None
    user_id: Annotated[str | None, OMIT] = None
    run_id: str
    session_id: str
    answered_by: Annotated[str | None, OMIT] = None
    answered_at_ms: Annotated[int | None, OMIT] = None
    # How it was answered: in a message, or through the API.
    via: Annotated[str | None, OMIT] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillVersionEntry:
    """A run made a skill, or a new version of one."""

    kind: Literal[EntryKind.SKILL_VERSION] = EntryKind.SKILL_VERSION
    at_ms: int
    skill_id: str
    slug: str
    version: int
    # Whether there was no such skill before.
    created: bool
    actor: str
    run_id: Annotated[str | None, OMIT] = None


EvolutionEntry: TypeAlias = Annotated[
    SoulVersionEntry | ProposalEntry | NudgeEntry | OfferEntry | SkillVersionEntry,
    Field(discriminator="kind"),
]


@dataclass(frozen=True, slots=True)
class EvolutionRecord:
    """Reads evolution records, as far as the reader may see them."""

    units: "Units"

    def page(
        self,
        principal: Principal,
        agent_id: str,
        request: PageRequest,
        *,
        kind: EntryKind | None = None,
    ) -> Page[EvolutionEntry]:
        """Entries newest first, all or of one kind; a page may have fewer items than the limit."""
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


# Makes the entry after the unit has ended: a diff is slow, and must not hold a connection.
_MakeEntry = Callable[[Effort], EvolutionEntry]


def _entry_at(
    unit: "Unit", principal: Principal, agent_id: str, place: EntryRef
) -> _MakeEntry | None:
    """The entry of a reference; None where it is damaged, or hidden from this reader."""
    try:
        return _READ[place.kind](unit, principal, agent_id, place)
    except DamagedRecord:
        return None


def _soul(unit: "Unit", _: Principal, agent_id: str, place: EntryRef) -> _MakeEntry | None:
    file = unit.agents.file(agent_id, SOUL, version=place.number)
    if file is None:
        return None
    before = _soul_text(unit, agent_id, file.version - 1)

    def make(effort: Effort) -> SoulVersionEntry:
        diff = text_diff_within(effort, before, file.content, SOUL)
        return SoulVersionEntry(
            at_ms=file.created_at_ms,
            version=file.version,
            actor=file.actor,
            run_id=file.run_id,
            size=file.size,
            deleted=file.deleted,
            diff=diff,
            diff_omitted=diff is None,
        )

    return make


def _proposal(unit: "Unit", _: Principal, agent_id: str, place: EntryRef) -> _MakeEntry | None:
    proposal = unit.proposals.get(place.id)
    if proposal is None:
        return None
    before = _soul_text(unit, agent_id, proposal.base_version)

    def make(effort: Effort) -> ProposalEntry:
        diff = text_diff_within(effort, before, proposal.content, SOUL)
        return ProposalEntry(
            at_ms=proposal.created_at_ms,
            proposal_id=proposal.proposal_id,
            state=proposal.state,
            base_version=proposal.base_version,
            actor=proposal.actor,
            run_id=proposal.run_id,
            diff=diff,
            diff_omitted=diff is None,
            decided_by=proposal.decided_by,
            decided_at_ms=proposal.decided_at_ms,
            reason=proposal.reason,
            file_version=proposal.file_version,
        )

    return make


def _soul_text(unit: "Unit", agent_id: str, version: int) -> str | None:
    """The text of a version of SOUL.md; None without one."""
    file = unit.agents.file(agent_id, SOUL, version=version) if version > 0 else None
    return None if file is None else file.content


def _nudge(unit: "Unit", _: Principal, __: str, place: EntryRef) -> _MakeEntry | None:
    event = unit.evolution.event(place.number)
    if event is None:
        return None
    step = event.data.get("step")
    entry = NudgeEntry(
        at_ms=event.at_ms,
        nudge=str(event.data.get("nudge", "")),
        step=step if isinstance(step, int) else None,
        locale=_text(event.data, "locale"),
        run_id=event.run_id,
        session_id=event.session_id,
    )
    return lambda _: entry


def _offer(unit: "Unit", _: Principal, __: str, place: EntryRef) -> _MakeEntry | None:
    offer = unit.requests.get(place.id)
    if offer is None:
        return None
    entry = OfferEntry(
        at_ms=offer.created_at_ms,
        offer_id=offer.request_id,
        state=OFFER_STATES[offer.state],
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
    return lambda _: entry


def _skill(unit: "Unit", principal: Principal, _: str, place: EntryRef) -> _MakeEntry | None:
    skill = unit.skills.get(place.id)
    version = None if skill is None else unit.skills.version(skill.skill_id, place.number)
    if skill is None or version is None or not knows(unit, skill, principal):
        return None
    if not version.is_accepted and not owns_or_administers(skill, principal):
        return None
    entry = SkillVersionEntry(
        at_ms=version.created_at_ms,
        skill_id=skill.skill_id,
        slug=skill.slug,
        version=version.number,
        created=unit.skills.version(skill.skill_id, version.number - 1) is None,
        actor=version.actor,
        run_id=version.run_id,
    )
    return lambda _: entry


def _text(stored: Mapping[str, Any], name: str) -> str | None:
    value = stored.get(name)
    return value if isinstance(value, str) else None


_Read = Callable[["Unit", Principal, str, EntryRef], _MakeEntry | None]
_READ: Final[Mapping[EntryKind, _Read]] = {
    EntryKind.SOUL_VERSION: _soul,
    EntryKind.PROPOSAL: _proposal,
    EntryKind.NUDGE: _nudge,
    EntryKind.OFFER: _offer,
    EntryKind.SKILL_VERSION: _skill,
}
