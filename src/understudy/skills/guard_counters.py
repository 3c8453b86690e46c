"""How often the content guard said no since this process began."""

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from understudy.core.errors import Unsafe


@dataclass(slots=True)
class GuardCounters:
    """Counts by rule; what breaks several rules counts for each of them once."""

    _by_rule: Counter[str] = field(default_factory=Counter)
    _lock: Any = field(default_factory=threading.Lock, repr=False)

    @contextmanager
    def counting(self) -> Iterator[None]:
        """Whatever the guard refuses within counts."""
        try:
            yield
        except Unsafe as refusal:
            with self._lock:
                self._by_rule.update({error.code for error in refusal.errors})
            raise

    def snapshot(self) -> dict[str, dict[str, int]]:
        """The counts as they stand."""
        with self._lock:
            return {"rejections_total": dict(self._by_rule)}
