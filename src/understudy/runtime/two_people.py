"""Two people: changes that a second person has to confirm, and those that wait for one."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any, Final, Literal

from understudy.core.clock import DAY_MS
from understudy.core.principal import Principal
from understudy.core.records import HIDDEN, JsonObject

SETTING: Final = "require_two_approvers"
# For how long a first approval holds.
KEPT_MS: Final = 7 * DAY_MS


class TwoApprovers(StrEnum):
    """What can be made to need two people."""

    SKILL_ACTIVATION = "skill_activation"
    POLICY_CHANGE = "policy_change"
    BULK_PUBLICATION = "bulk_publication"


def required(document: Mapping[str, Any]) -> frozenset[TwoApprovers]:
    """What needs two people by a runtime document; a damaged one asks for two of everything."""
    stored = document.get(SETTING, [])
    try:
        return frozenset(TwoApprovers(each) for each in stored)
    except (TypeError, ValueError):
        return frozenset(TwoApprovers)


def person_of(principal: Principal) -> str:
    """Who acts: an admin who acts for somebody else is still the same person."""
    return principal.acting_admin or principal.user_id


@dataclass(frozen=True, slots=True, kw_only=True)
class SecondApproval:
    """A change that one person approved and that waits for another."""

    approval_id: str
    subject: TwoApprovers
    # The operation, the ids in its path and query, and its body: what is done once there are two.
    operation: str
    values: JsonObject
    body: Any = None
    first_by: str
    created_at_ms: int
    expires_at_ms: int
    fingerprint: Annotated[str, HIDDEN] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingForSecond:
    """The answer to a first approval."""

    state: Literal["waiting_for_second"] = "waiting_for_second"
    approval_id: str
    subject: TwoApprovers
    operation: str
    first_by: str
    expires_at_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SecondApproved:
    """A change that two people approved, and what its operation answered."""

    approval_id: str
    operation: str
    answer: JsonObject
