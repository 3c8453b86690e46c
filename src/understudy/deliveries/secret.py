"""The secret webhooks are signed with: from the settings, else one of our own making."""

import secrets
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from understudy.core import audit
from understudy.core.clock import Clock
from understudy.core.errors import coded_error
from understudy.core.principal import Principal

if TYPE_CHECKING:
    from understudy.storage.unit import Units

PREFIX: Final = "whsec_"


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookSecret:
    """Finds the secret, makes it where there is none, and makes another on demand."""

    units: "Units"
    clock: Clock
    configured: str | None = field(default=None, repr=False)

    def current(self) -> str:
        """The secret in use; made at its first use, so that nothing ever goes out unsigned."""
        if self.configured:
            return self.configured
        with self.units.read() as unit:
            known = unit.webhook_secret.get()
        return known or self._first()

    def rotate(self, principal: Principal) -> str:
        """Make another secret and show it, this once; the old one signs nothing any more."""
        if self.configured:
            raise coded_error("deliveries/webhook_secret_configured")
        made, now = _make(), self.clock.now_ms()
        with self.units.write() as unit:
            unit.webhook_secret.replace(made, at_ms=now)
            unit.audit.add(audit.done(principal, "webhooks.rotate_secret", "secret", at_ms=now))
        return made

    def _first(self) -> str:
        made = _make()
        with self.units.write() as unit:
            if unit.webhook_secret.add(made, at_ms=self.clock.now_ms()):
                return made
            # Another daemon was quicker.
            return unit.webhook_secret.get() or made


def _make() -> str:
    return PREFIX + secrets.token_urlsafe(32)
