"""Telemetry, and the end of what it tells."""

from dataclasses import dataclass, replace

from understudy.core.clock import Clock
from understudy.daemon.services import Services


@dataclass(frozen=True)
class Later:
    """A clock that is ahead of another one."""

    clock: Clock
    by_ms: int

    def now_ms(self) -> int:
        return self.clock.now_ms() + self.by_ms


def over(services: Services, *, after_ms: int = 3_600_000) -> None:
    """Record the turns of traces that are over, as if nothing more came for some time."""
    telemetry = services.telemetry
    replace(telemetry, clock=Later(telemetry.clock, after_ms)).look()
