"""A clock that stands still until a test moves it."""

from dataclasses import dataclass


@dataclass(slots=True)
class FrozenClock:
    """A fixed time; only `advance` moves it."""

    ms: int = 1_700_000_000_000

    def now_ms(self) -> int:
        """Milliseconds since the Unix epoch, as the test set them."""
        return self.ms

    def advance(self, ms: int = 1) -> int:
        """Move the clock, and return the new time."""
        self.ms += ms
        return self.ms
