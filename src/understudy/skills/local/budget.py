"""How much one look into the folders of the machine may read: anybody may have put things there."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from understudy.guard.texts import is_text
from understudy.skills.bundles.bundle import Bundle

# Of one skill: all of its files, those that the guard reads, and what it reads at once for a call.
MAX_SKILL_BYTES: Final = 5 * 1024 * 1024
MAX_TEXT_BYTES: Final = 1024 * 1024
MAX_TEXT_AT_ONCE: Final = 128 * 1024
# Of one root during one look. What was read before and not touched since costs next to nothing, so
# the next look goes on where this one ended.
MAX_SKILLS: Final = 200
MAX_ENTRIES: Final = 20_000
MAX_SECONDS: Final = 10.0


def text_bytes(bundle: Bundle) -> int:
    """How much of a bundle the guard has to read."""
    return sum(len(data) for path, data in bundle.items() if is_text(path, data))


@dataclass(slots=True)
class Budget:
    """What is left for one root."""

    now: Callable[[], float] = time.monotonic
    _bytes: int = MAX_SKILL_BYTES
    _entries: int = MAX_ENTRIES
    _skills: int = MAX_SKILLS
    _until: float = field(init=False)

    def __post_init__(self) -> None:
        self._until = self.now() + MAX_SECONDS

    @property
    def is_spent(self) -> bool:
        """Whether nothing more is looked at."""
        return self._entries <= 0 or self.now() > self._until

    def count_skill(self) -> bool:
        """Count a skill that is found; False when there are too many."""
        self._skills -= 1
        return self._skills >= 0

    def looked_at(self, entries: int) -> None:
        """Count files and folders whose stamps were taken."""
        self._entries -= entries

    def may_read(self, size: int) -> bool:
        """Whether so many bytes more are read; the first skill always is."""
        if size > self._bytes:
            return False
        self._bytes -= size
        return True
