"""How often which version of a skill was used, and by whom."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """One time that a run was given the body of a skill."""

    # Made from the tool call, so that a call that is done again counts once.
    use_id: str
    # None for one that only lies in a folder.
    skill_id: str | None
    slug: str
    version: int | None
    digest: str
    agent_id: str
    user_id: str
    session_id: str
    run_id: str
    at_ms: int


class UseStore(Protocol):
    """The uses of skills."""

    def add(self, use: Use) -> bool:
        """Note a use; False when it was noted before."""
        ...

    def get(self, use_id: str) -> Use | None:
        """A use that was noted; None without one."""
        ...

    def counts(self, skill_id: str) -> Mapping[int, int]:
        """How often each version of a skill was used; those that never were are left out."""
        ...
