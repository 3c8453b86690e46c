"""What the daemon suggests from counting: never more than a candidate that a person decides on."""

from dataclasses import dataclass


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
