"""Visibility: the records that are visible to the caller of a request."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, TypeAlias

from understudy.core.principal import Principal, Role

# Whether users see each other's sessions and everything derived from them.
Isolation: TypeAlias = Literal["shared", "per_user"]
PER_USER: Final[Isolation] = "per_user"


@dataclass(frozen=True, slots=True)
class RowVisibility:
    """What a caller can see: everything, unless a field restricts it."""

    # Restricts records that belong to users to those of this user.
    user_id: str | None = None
    sees_sensitive: bool = True


UNRESTRICTED: Final = RowVisibility()
# The visibility of the request being served; the daemon itself sees everything.
current_visibility: ContextVar[RowVisibility] = ContextVar(
    "current_visibility", default=UNRESTRICTED
)


def visibility_of(principal: Principal, isolation: Isolation) -> RowVisibility:
    """The visibility of a principal.

    Viewers see nothing sensitive; with isolation, only admins see what belongs to other users. A
    connected agent sees only what belongs to its own user in either case.
    """
    is_client = principal.role is Role.CLIENT
    is_alone = is_client or (isolation == PER_USER and not principal.role.includes(Role.ADMIN))
    return RowVisibility(
        user_id=principal.user_id if is_alone else None,
        sees_sensitive=principal.role.includes(Role.OPERATOR),
    )


class SensitiveStatement(NamedTuple):
    """A statement that some callers may not read, and where it was made, if that is known."""

    text: str
    run_id: str | None = None
    session_id: str | None = None


@contextmanager
def unrestricted() -> Iterator[None]:
    """Use unrestricted visibility: for checks across all users whose result reveals nothing."""
    token = current_visibility.set(UNRESTRICTED)
    try:
        yield
    finally:
        current_visibility.reset(token)
