"""How an agent evolved, and what that costs, on the wire."""

from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from understudy.wire.base import Omitted, View
from understudy.wire.proposals import ProposalState

EntryKind: TypeAlias = Literal["soul_version", "proposal", "nudge", "offer", "skill_version"]


class CostView(View):
    """What one part takes in tokens while its switch is on."""

    part: str
    when: Literal["every_request", "once_per_run"]
    tokens: int


class SwitchView(View):
    """A switch as it counts for the next run, whatever is stored; what is off costs nothing."""

    name: str
    value: bool | int
    on: bool
    costs: list[CostView]


class SoulVersionEntry(View):
    """SOUL.md was written; `diff` is against the version before, and may be left out of a page."""

    kind: Literal["soul_version"] = "soul_version"
    at_ms: int
    version: int
    actor: str
    run_id: Omitted[str] = None
    size: int
    # Whether it was taken out of force.
    deleted: bool = False
    diff: str | None
    # Whether the diffs before it on this page took so long that this one was not made.
    diff_omitted: bool = False


class ProposalEntry(View):
    """A run wanted SOUL.md to change; `diff` is against the version that it was made from.

    It may be left out of a page, as that of a version may.
    """

    kind: Literal["proposal"] = "proposal"
    at_ms: int
    proposal_id: str
    state: ProposalState
    base_version: int
    actor: str
    run_id: str
    diff: str | None
    # Whether the diffs before it on this page took so long that this one was not made.
    diff_omitted: bool = False
    decided_by: Omitted[str] = None
    decided_at_ms: Omitted[int] = None
    reason: Omitted[str] = None
    file_version: Omitted[int] = None


class NudgeEntry(View):
    """A run was told something beside its work: which, and before which step."""

    kind: Literal["nudge"] = "nudge"
    at_ms: int
    nudge: str
    step: Omitted[int] = None
    locale: Omitted[str] = None
    run_id: Omitted[str] = None
    session_id: str


class OfferEntry(View):
    """A user was asked something, and answered or not."""

    kind: Literal["offer"] = "offer"
    at_ms: int
    offer_id: str
    state: Literal["offered", "accepted", "declined", "expired", "superseded"]
    question: str
    purpose: Omitted[str] = None
    origin: Omitted[str] = None
    user_id: Omitted[str] = None
    run_id: str
    session_id: str
    answered_by: Omitted[str] = None
    answered_at_ms: Omitted[int] = None
    # How it was answered: in a message, or through the API.
    via: Omitted[str] = None


class SkillVersionEntry(View):
    """A run made a skill, or a new version of one."""

    kind: Literal["skill_version"] = "skill_version"
    at_ms: int
    skill_id: str
    slug: str
    version: int
    # Whether there was no such skill before.
    created: bool
    actor: str
    run_id: Omitted[str] = None


EvolutionEntry: TypeAlias = Annotated[
    SoulVersionEntry | ProposalEntry | NudgeEntry | OfferEntry | SkillVersionEntry,
    Field(discriminator="kind"),
]
