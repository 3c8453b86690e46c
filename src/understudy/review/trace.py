"""How a decision came about: every rule that was looked at, and every step after it."""

from collections.abc import Callable
from dataclasses import dataclass, field

from understudy.learnings.model import ReviewAction


@dataclass(frozen=True, slots=True, kw_only=True)
class Mismatch:
    """One field of a rule that a candidate does not meet."""

    field: str
    wanted: str
    had: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleTrace:
    """What one rule had to say."""

    # Its place among the rules, from 0.
    index: int
    name: str | None
    action: ReviewAction
    # Whether every field of it fits; a rule in quarantine may fit and has no say.
    matched: bool
    quarantined: bool
    # Whether it is the first that fits and has a say.
    decided: bool
    # Told only to who asks: a dry run has hundreds of thousands of these, and reads none.
    tell: Callable[[], tuple[Mismatch, ...]] = field(default=tuple, repr=False, compare=False)

    @property
    def mismatches(self) -> tuple[Mismatch, ...]:
        """Every field that does not fit."""
        return self.tell()


@dataclass(frozen=True, slots=True, kw_only=True)
class Adjustment:
    """A step after the rules, which changed what they said."""

    code: str
    before: ReviewAction
    after: ReviewAction
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """Every rule once, in order, and then what was changed."""

    rules: tuple[RuleTrace, ...] = ()
    adjustments: tuple[Adjustment, ...] = ()
    # Why it was turned away before any rule was asked.
    refused: str | None = None
