"""The principal: who is calling, and what their role permits."""

from dataclasses import dataclass
from enum import StrEnum

from understudy.core.errors import coded_error


class Role(StrEnum):
    """The role of a token; each role includes the ones before it."""

    # A connected agent: what operations offer to clients by name, and nothing that decides.
    CLIENT = "client"
    VIEWER = "viewer"
    OPERATOR = "operator"
    ADMIN = "admin"

    def includes(self, other: "Role") -> bool:
        """Whether this role may do what `other` may."""
        order = list(Role)
        return order.index(self) >= order.index(other)


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """The user a call acts for, authenticated by a token and never by a sentence."""

    user_id: str
    role: Role
    # The admin who acts for `user_id`, when it is not the user's own token.
    acting_admin: str | None = None
    # The language of the token, for requests that name none.
    locale: str | None = None

    @property
    def actor(self) -> str:
        """How the audit names this caller."""
        return f"{self.acting_admin} as {self.user_id}" if self.acting_admin else self.user_id

    def require(self, role: Role) -> None:
        """Raise `Rejected` unless this caller has at least `role`."""
        if not self.role.includes(role):
            raise coded_error("auth/forbidden", needed=role, role=self.role)


DAEMON = Principal(user_id="daemon", role=Role.ADMIN)
