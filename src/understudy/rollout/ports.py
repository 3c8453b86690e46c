"""What rollouts need from outside: the policy, and who keeps the files."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from understudy.rollout.model import Definition, Rollout
from understudy.rollout.stages import Stage

if TYPE_CHECKING:
    from understudy.storage.unit import Unit


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutFilter:
    """Which rollouts a list is about; what is left out narrows nothing."""

    source_learning_id: str | None = None
    status: Stage | None = None


EVERYTHING: Final = RolloutFilter()


class Mark(NamedTuple):
    """What tells whether a rollout is offered as it was; what only speaks for it is not part of it."""

    skill_name: str
    source_learning_id: str
    status: str
    fingerprint: str
    attempt: int
    is_flagged: bool


class Rules(Protocol):
    """What the operator's policy asks of a rollout; `PromotionSettings` is one."""

    @property
    def require_executed_evidence(self) -> bool: ...

    @property
    def min_successes(self) -> int: ...

    @property
    def min_sessions(self) -> int: ...

    @property
    def require_replay(self) -> bool: ...

    @property
    def canary_share_percent(self) -> int: ...

    @property
    def demote_when_worse(self) -> bool: ...


# Whether something in the catalogue has a name already; reads rows and no folders.
IsTaken = Callable[["Unit", str], bool]
PolicyOf = Callable[["Unit"], Rules]


class Mounts(Protocol):
    """Somebody who keeps the files of active skills as the records say."""

    def check(self, definition: Definition) -> None:
        """Refuse a definition whose files could not be kept; never while a unit is open."""
        ...

    def digest(self, definition: Definition) -> str:
        """The digest that the files of a definition have."""
        ...

    def after(self, unit: "Unit", rollout: Rollout) -> None:
        """A record changed in this unit: have its files follow once that stands.

        By then somebody else may have changed it again and been quicker, so look at the record
        anew, or at its revision.
        """
        ...


class NoMounts:
    """Keeps no files."""

    def check(self, definition: Definition) -> None:
        """What is written nowhere is fine."""

    def digest(self, definition: Definition) -> str:
        """There are no files; what they would say is told apart all the same."""
        return definition.fingerprint

    def after(self, unit: "Unit", rollout: Rollout) -> None:
        """Nothing follows."""
