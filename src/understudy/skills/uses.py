"""How often which version of a skill was used, and by whom."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from understudy.skills.usage import Listing, Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """One time that a run was given the body of a skill."""

    # Made from the tool call, so that a call that is done again counts once.
    use_id: str
    # None for one that lies in a folder or was promoted.
    skill_id: str | None
    slug: str
    version: int | None
    digest: str
    agent_id: str
    user_id: str
    session_id: str
    run_id: str
    at_ms: int
    # Of the definition that was promoted; None for every other skill.
    fingerprint: str | None = None
    # What that one calls its version.
    version_label: str | None = None

    @property
    def told_version(self) -> int | str | None:
        """The version as whoever asks is told it."""
        return self.version_label if self.version is None else self.version


class UseStore(Protocol):
    """The uses of skills."""

    def add(self, use: Use) -> bool:
        """Note a use; False when it was noted before."""
        ...

    def get(self, use_id: str) -> Use | None:
        """A use that was noted; None without one."""
        ...

    def list_for(self, listings: Sequence[Listing]) -> None:
        """Note of which skills runs were told; once is enough."""
        ...

    def usage(self, ref: str, *, since_ms: int = 0) -> tuple[Usage, ...]:
        """What became of the runs that knew of a skill since that day, by version, newest first."""
        ...

    def usage_since(self, since_ms: int) -> tuple[Usage, ...]:
        """The same of all skills that runs were told of or used since that day."""
        ...

    def sum_up(self, *, limit: int) -> int:
        """Count what runs that have ended were told of by day, and no longer by run.

        Tells how many of them that were; none when there is nothing left to do.
        """
        ...

    def sum_up_days(self, *, before_day: int) -> None:
        """Count the days before one together."""
        ...

    def runs_that_used(
        self, ref: str, version: int, *, since_ms: int, limit: int
    ) -> tuple[str, ...]:
        """Runs that used a version, those first that did not succeed, then the newest."""
        ...
