"""The secret that decides which sessions a canary is offered to: one for all daemons of a database.

Without it, whoever chooses the id of a session could choose to be offered the canary.
"""

import secrets
from typing import Final, Protocol

from understudy.core.clock import Clock
from understudy.sessions.ports import Units

SECRET_BYTES: Final = 32


class CanarySecretStore(Protocol):
    """Where the secret is kept; it never changes, so that a session keeps what it was offered."""

    def get(self) -> str | None:
        """The secret, if one was made."""
        ...

    def add(self, secret: str, *, at_ms: int) -> bool:
        """Keep the first secret; False when there is one already."""
        ...


class HasCanarySecret(Protocol):
    """A unit of work that knows the secret."""

    @property
    def canary_secret(self) -> CanarySecretStore: ...


def make_secret(units: Units[HasCanarySecret], clock: Clock) -> None:
    """See that there is one; whichever daemon is first makes it."""
    with units.read() as unit:
        if unit.canary_secret.get() is not None:
            return
    with units.write() as unit:
        unit.canary_secret.add(secrets.token_hex(SECRET_BYTES), at_ms=clock.now_ms())
