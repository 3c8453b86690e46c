"""The stages of a rollout, and which may follow which."""

from enum import StrEnum
from typing import Final

from understudy.core.machine import Machine


class Stage(StrEnum):
    """How far a procedure has come on its way to being a skill."""

    DRAFT = "draft"
    VERIFIED = "verified"
    CANARY = "canary"
    ACTIVE = "active"
    REVOKED = "revoked"


ROLLOUT: Final = Machine(
    name="rollout",
    steps={
        Stage.DRAFT: frozenset({Stage.VERIFIED, Stage.REVOKED}),
        Stage.VERIFIED: frozenset({Stage.DRAFT, Stage.CANARY, Stage.ACTIVE, Stage.REVOKED}),
        Stage.CANARY: frozenset({Stage.DRAFT, Stage.ACTIVE, Stage.REVOKED}),
        Stage.ACTIVE: frozenset({Stage.REVOKED}),
        Stage.REVOKED: frozenset({Stage.DRAFT, Stage.ACTIVE}),
    },
    conflict_code="rollout_state_conflict",
    domain="rollout",
)

# Still under way or in force; a learning has at most one such rollout.
LIVE: Final = frozenset(Stage) - {Stage.REVOKED}
# Where `advance` goes from each stage.
NEXT: Final = {
    Stage.DRAFT: Stage.VERIFIED,
    Stage.VERIFIED: Stage.CANARY,
    Stage.CANARY: Stage.ACTIVE,
}
