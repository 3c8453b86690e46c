"""A clock that stands still until the test moves it."""

from dataclasses import dataclass


@dataclass(slots=True)
class FrozenClock:
    """Always tells the same time; `advance` is the only thing that moves it."""

    ms: int = 1_700_000_000_000

    def now_ms(self) -> int:
        """Milliseconds since the Unix epoch, as the test set them."""
        return self.ms

    def advance(self, ms: int = 1) -> int:
        """Move the time on and tell the new one."""
        self.ms += ms
        return self.ms
