"""What a reader may do about something that a run asks of people."""

from collections.abc import Callable, Mapping
from typing import Final

from understudy.core.principal import Principal, Role
from understudy.runs.requests import PersonRequest, RequestKind, RequestState

Rule = Callable[[PersonRequest, Principal], bool]

ACTIONS: Final[Mapping[RequestKind, tuple[str, ...]]] = {
    RequestKind.APPROVAL: ("allow", "deny"),
    RequestKind.OFFER: ("allow", "deny"),
    RequestKind.QUESTION: ("answer", "decline", "cancel"),
}


def is_for_another(request: PersonRequest, reader: Principal) -> bool:
    """Whether it is an offer to somebody else: only the user that it was made to can answer."""
    return request.kind is RequestKind.OFFER and request.user_id != reader.user_id


BLOCKERS: Final[tuple[tuple[str, Rule], ...]] = (
    ("settled", lambda request, _: request.state is not RequestState.PENDING),
    ("needs-operator", lambda _, reader: not reader.role.includes(Role.OPERATOR)),
    ("for-another", is_for_another),
)


def blocked_by(request: PersonRequest, reader: Principal) -> tuple[str, ...]:
    """Every reason why this reader can do nothing about it; empty means that they can."""
    return tuple(reason for reason, blocks in BLOCKERS if blocks(request, reader))


def actions_of(request: PersonRequest, reader: Principal) -> tuple[str, ...]:
    """What this reader may do about it now."""
    return () if blocked_by(request, reader) else ACTIONS[request.kind]
