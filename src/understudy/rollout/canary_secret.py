"""The secret that decides which sessions a canary is offered to: one for all daemons of a database.

Without it, whoever chooses the id of a session could choose to be offered the canary.
"""

import secrets
from typing import TYPE_CHECKING, Final

from understudy.core.clock import Clock

if TYPE_CHECKING:
    from understudy.storage.unit import Units

SECRET_BYTES: Final = 32


def make_secret(units: "Units", clock: Clock) -> None:
    """See that there is one; whichever daemon is first makes it."""
    with units.read() as unit:
        if unit.canary_secret.get() is not None:
            return
    with units.write() as unit:
        unit.canary_secret.add(secrets.token_hex(SECRET_BYTES), at_ms=clock.now_ms())
