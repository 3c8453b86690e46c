"""Two people: changes that a second person has to confirm, and those that wait for one."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any, Final, Literal

from understudy.core.clock import DAY_MS
from understudy.core.principal import Principal
from understudy.core.records import HIDDEN, OMIT, OMIT_EMPTY, JsonObject, reduced

SETTING: Final = "require_two_approvers"
SIGNED_UPLOADS: Final = "require_signed_uploads"
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


def requires_signature(document: Mapping[str, Any]) -> bool:
    """Whether uploads need the signature of a known key; a damaged document asks for one."""
    return document.get(SIGNED_UPLOADS, False) is not False


def person_of(principal: Principal) -> str:
    """Who acts: an admin who acts for somebody else is still the same person."""
    return principal.acting_admin or principal.user_id


@dataclass(frozen=True, slots=True, kw_only=True)
class SecondApproval:
    """A change that waits for people to approve it."""

    approval_id: str
    subject: TwoApprovers
    # The operation, the ids in its path and query, and its body: what is done once there are two.
    operation: str
    values: JsonObject
    body: Any = None
    # Who wrote the change itself, where it was not there before; does not count.
    proposed_by: Annotated[str | None, OMIT] = None
    # Who approved it so far; nobody yet where it is left out.
    first_by: Annotated[str, OMIT_EMPTY] = ""
    created_at_ms: int
    expires_at_ms: int
    fingerprint: Annotated[str, HIDDEN] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingForSecond:
    """The answer to a change that waits: for a second person, or for two where nobody has approved it."""

    state: Literal["waiting_for_second", "waiting_for_two"] = "waiting_for_second"
    approval_id: str
    subject: TwoApprovers
    operation: str
    proposed_by: Annotated[str | None, OMIT] = None
    first_by: Annotated[str, OMIT_EMPTY] = ""
    expires_at_ms: int


def waiting_answer(waiting: SecondApproval) -> WaitingForSecond:
    """What is told of a change that waits."""
    state = "waiting_for_second" if waiting.first_by else "waiting_for_two"
    return reduced(WaitingForSecond, waiting, state=state)


@dataclass(frozen=True, slots=True, kw_only=True)
class SecondApproved:
    """A change that was approved, and what its operation answered: it waits on, or is done."""

    approval_id: str
    operation: str
    # Whether there were two, so that it was made.
    done: bool
    answer: JsonObject
