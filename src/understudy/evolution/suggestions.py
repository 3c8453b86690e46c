"""What the daemon suggests from counting: never more than a candidate that a person decides on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from understudy.learnings.ports import LearningUnit
from understudy.skills.ports import SkillUnit


@dataclass(frozen=True, slots=True, kw_only=True)
class Suggestion:
    """Something worth a look, and what speaks for it."""

    rule: str
    # What it is about; the same rule says the same of it only once.
    subject: str
    # The words, without figures: they are the same every week.
    content: str
    note: str
    run_ids: tuple[str, ...] = ()
    agent_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """The candidate that was made of a suggestion last."""

    rule: str
    subject: str
    candidate_id: str
    at_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SuggestionState:
    """What became of a suggestion."""

    rule: str
    subject: str
    at_ms: int
    # Whether somebody has yet to decide.
    is_open: bool
    decided_at_ms: int | None


class SuggestionStore(Protocol):
    """What was suggested, and what runs did."""

    def states(self) -> tuple[SuggestionState, ...]:
        """What became of all that was suggested and is not forgotten."""
        ...

    def put(self, made: Made) -> None:
        """Keep it, in place of an earlier one about the same."""
        ...

    def forget(self, *, before_ms: int) -> None:
        """Drop what is so old that it no longer matters."""
        ...

    def looked_at_ms(self) -> int | None:
        """When somebody looked last."""
        ...

    def note_look(self, at_ms: int) -> None:
        """Note that somebody looks now."""
        ...

    def tool_runs(self, *, since_ms: int, per_agent: int) -> Mapping[str, tuple[str, ...]]:
        """Of each agent the newest runs that used tools and came to a good end without a skill."""
        ...

    def tools_of(self, run_ids: Sequence[str]) -> Mapping[str, tuple[str, ...]]:
        """The tools that runs called, in order."""
        ...


class SuggestionUnit(LearningUnit, SkillUnit, Protocol):
    """One transaction over skills, runs and what is proposed for review."""

    @property
    def suggestions(self) -> SuggestionStore: ...
