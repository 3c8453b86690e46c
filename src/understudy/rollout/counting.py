"""What the runs of an attempt amount to."""

from dataclasses import dataclass, replace
from typing import Final

from understudy.learnings.model import Verification


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """How often what was shown for one definition."""

    successful_run_count: int = 0
    distinct_session_count: int = 0
    # How many of all runs carried the very definition out.
    executed_run_count: int = 0
    canary_success_count: int = 0
    canary_failure_count: int = 0

    @property
    def verification_status(self) -> Verification:
        """Whether a run has verified it."""
        return Verification.VERIFIED if self.successful_run_count else Verification.UNVERIFIED

    @property
    def real_daemon_verified(self) -> bool:
        """Whether runs of this daemon did; no others are accepted."""
        return bool(self.successful_run_count)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sums:
    """What all runs of an attempt amount to, and those alone that carried the definition out."""

    every: Counts = Counts()
    executed: Counts = Counts()

    def under(self, *, executed_only: bool) -> Counts:
        """What counts where nobody's word is taken, or where it is."""
        if not executed_only:
            return self.every
        # Whoever saw it fail, it failed.
        return replace(self.executed, canary_failure_count=self.every.canary_failure_count)


NOTHING: Final = Sums()
