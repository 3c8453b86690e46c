"""Sight: what of the stores exists for whoever a call is made for."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from understudy.core.principal import Principal, Role

# Whether users see each other's sessions and all that comes of them.
Isolation: TypeAlias = Literal["shared", "per_user"]
PER_USER: Final[Isolation] = "per_user"


@dataclass(frozen=True, slots=True)
class Sight:
    """What a caller can see: everything, unless it says otherwise."""

    # Only what belongs to this user, of what belongs to users.
    user_id: str | None = None
    sees_sensitive: bool = True


WHOLE: Final = Sight()
# Of the request being served; the daemon itself sees everything.
current_sight: ContextVar[Sight] = ContextVar("current_sight", default=WHOLE)


def sight_of(principal: Principal, isolation: Isolation) -> Sight:
    """What a principal can see: viewers nothing sensitive, and with isolation nobody but an admin
    what belongs to others."""
    is_alone = isolation == PER_USER and not principal.role.includes(Role.ADMIN)
    return Sight(
        user_id=principal.user_id if is_alone else None,
        sees_sensitive=principal.role.includes(Role.OPERATOR),
    )


@contextmanager
def whole_sight() -> Iterator[None]:
    """See everything for a moment: for what must hold for all, and tells the caller nothing."""
    token = current_sight.set(WHOLE)
    try:
        yield
    finally:
        current_sight.reset(token)
