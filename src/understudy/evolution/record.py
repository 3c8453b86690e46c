"""What an agent became, and how: one entry for everything that happened on the way."""

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from understudy.agents.model import ContextFile
from understudy.evolution.proposals import FileProposal
from understudy.runs.requests import PersonRequest
from understudy.sessions.journal import JournalEvent
from understudy.skills.model import Skill, SkillVersion


class EntryKind(StrEnum):
    """What an entry tells of."""

    SOUL_VERSION = "soul_version"  # SOUL.md was written, by a run or by a person
    PROPOSAL = "proposal"  # a run wants SOUL.md to change, and somebody decides
    NUDGE = "nudge"  # a run was reminded of skills
    OFFER = "offer"  # a user was asked whether to keep something, and answered or not
    SKILL_VERSION = "skill_version"  # a run made or changed a skill


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordPlace:
    """Where the record of an entry lies."""

    kind: EntryKind
    at_ms: int
    id: str
    # The number of a version, or of an event among all events.
    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SoulWritten:
    """A version of SOUL.md, and how it differs from the one before."""

    file: ContextFile
    # None where a page has shown so much that this one was left out.
    diff: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SoulProposed:
    """A change of SOUL.md that waited for a decision, and what it was to change."""

    proposal: FileProposal
    # None where a page has shown so much that this one was left out.
    diff: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Nudged:
    """That a run was told something beside its work."""

    event: JournalEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferMade:
    """What was offered to a user, and the answer."""

    offer: PersonRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillMade:
    """A version of a skill that a run made."""

    skill: Skill
    version: SkillVersion
    # Whether there was no such skill before.
    is_new: bool


Entry: TypeAlias = SoulWritten | SoulProposed | Nudged | OfferMade | SkillMade
