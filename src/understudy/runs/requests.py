"""Requests of a run to people: approve a tool call, answer questions, or accept an offer."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from understudy.core.machine import Machine
from understudy.core.principal import Principal, Role
from understudy.runs.model import RunStatus


class RequestKind(StrEnum):
    """The kind of a request."""

    APPROVAL = "approval"
    QUESTION = "question"
    # No run waits for it, and it outlives its run. Allowed means accepted, denied declined.
    OFFER = "offer"


class RequestState(StrEnum):
    """The state of a request."""

    PENDING = "pending"
    ALLOWED = "allowed"
    DENIED = "denied"
    ANSWERED = "answered"
    DECLINED = "declined"
    EXPIRED = "expired"
    CANCELLED = "cancelled"


class Audience(StrEnum):
    """Who is asked: people, or the parent session of a sidechain."""

    USER = "user"
    PARENT = "parent"


_S = RequestState
_NOTHING: frozenset[RequestState] = frozenset()

REQUEST = Machine(
    name="request",
    domain="runs",
    conflict_code="request_state_conflict",
    steps={
        _S.PENDING: frozenset(
            {_S.ALLOWED, _S.DENIED, _S.ANSWERED, _S.DECLINED, _S.EXPIRED, _S.CANCELLED}
        ),
        _S.ALLOWED: _NOTHING,
        _S.DENIED: _NOTHING,
        _S.ANSWERED: _NOTHING,
        _S.DECLINED: _NOTHING,
        _S.EXPIRED: _NOTHING,
        _S.CANCELLED: _NOTHING,
    },
)

# The status of a run while a request of a kind is pending; approvals take precedence.
WAITING_STATUS: Mapping[RequestKind, RunStatus] = {
    RequestKind.APPROVAL: RunStatus.WAITING_FOR_APPROVAL,
    RequestKind.QUESTION: RunStatus.WAITING_FOR_USER_QUESTION,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonRequest:
    """A request to people; a run waits for it, unless it is an offer.

    `body` is the question, `resolution` the answer.
    """

    request_id: str
    kind: RequestKind
    run_id: str
    session_id: str
    # The tool call that asks; each asks once.
    call_key: str
    body: Mapping[str, Any]
    created_at_ms: int
    audience: Audience = Audience.USER
    state: RequestState = RequestState.PENDING
    expires_at_ms: int | None = None
    resolution: Mapping[str, Any] | None = None
    resolved_by: str | None = None
    resolved_at_ms: int | None = None
    # The user of an offer; other requests may be answered by any operator.
    user_id: str | None = None


def waiting_status(kinds: Collection[RequestKind]) -> RunStatus:
    """The status of a run with pending requests of these kinds."""
    return next(status for kind, status in WAITING_STATUS.items() if kind in kinds)


def shown(request: PersonRequest) -> dict[str, Any]:
    """A request as events and answers show it."""
    view = {
        "id": request.request_id,
        "request_id": request.request_id,
        **request.body,
        "run_id": request.run_id,
        "session_id": request.session_id,
        "state": str(request.state),
        "created_at_ms": request.created_at_ms,
    }
    optional = {
        "user_id": request.user_id,
        "expires_at_ms": request.expires_at_ms,
        "resolution": request.resolution,
        "resolved_by": request.resolved_by,
        "resolved_at_ms": request.resolved_at_ms,
    }
    return view | {name: value for name, value in optional.items() if value is not None}


Rule = Callable[[PersonRequest, Principal], bool]

ACTIONS: Final[Mapping[RequestKind, tuple[str, ...]]] = {
    RequestKind.APPROVAL: ("allow", "deny"),
    RequestKind.OFFER: ("allow", "deny"),
    RequestKind.QUESTION: ("answer", "decline", "cancel"),
}


def is_for_another(request: PersonRequest, reader: Principal) -> bool:
    """Whether it is an offer to another user: only its own user can answer."""
    return request.kind is RequestKind.OFFER and request.user_id != reader.user_id


BLOCKERS: Final[tuple[tuple[str, Rule], ...]] = (
    ("settled", lambda request, _: request.state is not RequestState.PENDING),
    ("needs-operator", lambda _, reader: not reader.role.includes(Role.OPERATOR)),
    ("for-another", is_for_another),
)


def blocked_by(request: PersonRequest, reader: Principal) -> tuple[str, ...]:
    """Every reason why this reader cannot resolve it; empty means that they can."""
    return tuple(reason for reason, blocks in BLOCKERS if blocks(request, reader))


def actions_of(request: PersonRequest, reader: Principal) -> tuple[str, ...]:
    """The actions that this reader may take on it now."""
    return () if blocked_by(request, reader) else ACTIONS[request.kind]
