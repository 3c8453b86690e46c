"""What can be done with a rollout, by where it stands."""

from collections.abc import Mapping
from typing import Final

from understudy.rollout.model import Rollout
from understudy.rollout.stages import Stage

RELEASE: Final = "release"
_ON_ITS_WAY: Final = ("promote", "result", "trial", "hold", "revoke")
# In each stage, by the name of the route.
ACTIONS: Final[Mapping[Stage, tuple[str, ...]]] = {
    Stage.DRAFT: _ON_ITS_WAY,
    Stage.VERIFIED: _ON_ITS_WAY,
    Stage.CANARY: _ON_ITS_WAY,
    Stage.ACTIVE: ("result", "revoke"),
    Stage.REVOKED: ("promote", "rollback"),
}
_NOT_WHILE_HELD: Final = frozenset({"hold", "rollback"})


def actions_of(rollout: Rollout) -> tuple[str, ...]:
    """What a caller can do now; what is held can be released."""
    actions = ACTIONS[rollout.status]
    if rollout.held_reason is None:
        return actions
    return (*(it for it in actions if it not in _NOT_WHILE_HELD), RELEASE)
