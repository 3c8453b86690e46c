"""Two-person rule: changes that a second person has to approve, and pending ones."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any, Final, Literal

from understudy.core.clock import DAY_MS
from understudy.core.principal import Principal
from understudy.core.records import HIDDEN, OMIT, OMIT_EMPTY, JsonObject, reduced

SETTING: Final = "require_two_approvers"
SIGNED_UPLOADS: Final = "require_signed_uploads"
# How long a first approval is valid.
KEPT_MS: Final = 7 * DAY_MS


class TwoApprovers(StrEnum):
    """The kinds of changes that may require two people."""

    SKILL_ACTIVATION = "skill_activation"
    POLICY_CHANGE = "policy_change"
    BULK_PUBLICATION = "bulk_publication"


def required(document: Mapping[str, Any]) -> frozenset[TwoApprovers]:
    """The changes that require two people; a damaged document requires it for all."""
    stored = document.get(SETTING, [])
    try:
        return frozenset(TwoApprovers(each) for each in stored)
    except (TypeError, ValueError):
        return frozenset(TwoApprovers)


def requires_signature(document: Mapping[str, Any]) -> bool:
    """Whether uploads need the signature of a known key; a damaged document requires one."""
    return document.get(SIGNED_UPLOADS, False) is not False


def person_of(principal: Principal) -> str:
    """The acting person: an admin who acts for a user is still the admin."""
    return principal.acting_admin or principal.user_id


@dataclass(frozen=True, slots=True, kw_only=True)
class SecondApproval:
    """A change that waits for approval by two people."""

    approval_id: str
    subject: TwoApprovers
    # The operation, its path and query values, and its body: executed once two have approved.
    operation: str
    values: JsonObject
    body: Any = None
    # The author of the change itself, where it is new; their approval does not count.
    proposed_by: Annotated[str | None, OMIT] = None
    # The first approver; omitted where nobody has approved it.
    first_by: Annotated[str, OMIT_EMPTY] = ""
    created_at_ms: int
    expires_at_ms: int
    fingerprint: Annotated[str, HIDDEN] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingForSecond:
    """The answer to a change that waits for a second approval, or for two."""

    state: Literal["waiting_for_second", "waiting_for_two"] = "waiting_for_second"
    approval_id: str
    subject: TwoApprovers
    operation: str
    proposed_by: Annotated[str | None, OMIT] = None
    first_by: Annotated[str, OMIT_EMPTY] = ""
    expires_at_ms: int


def waiting_answer(waiting: SecondApproval) -> WaitingForSecond:
    """The answer for a waiting change."""
    state = "waiting_for_second" if waiting.first_by else "waiting_for_two"
    return reduced(WaitingForSecond, waiting, state=state)


@dataclass(frozen=True, slots=True, kw_only=True)
class SecondApproved:
    """A change that was approved, and the answer of its operation: it waits on, or is done."""

    approval_id: str
    operation: str
    # Whether both approvals are there, so that the change was made.
    done: bool
    answer: JsonObject
