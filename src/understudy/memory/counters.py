"""What happened to memories since this process began."""

import threading
from dataclasses import dataclass, field, fields
from typing import Any


@dataclass(slots=True)
class CounterSums:
    """Sums that only grow; several threads may add to them."""

    _lock: Any = field(default_factory=threading.Lock, repr=False, compare=False)

    def add(self, **amounts: int) -> None:
        """Add to some of them at once, by name."""
        with self._lock:
            for name, amount in amounts.items():
                setattr(self, name, getattr(self, name) + amount)

    def snapshot(self) -> dict[str, int]:
        """All of them as they stand together."""
        with self._lock:
            return {
                each.name: getattr(self, each.name)
                for each in fields(self)
                if not each.name.startswith("_")
            }


@dataclass(slots=True)
class Counters(CounterSums):
    """What happened to run memories."""

    stored_total: int = 0
    injected_total: int = 0
    skipped_unreadable_total: int = 0
    pruned_ttl_total: int = 0
    pruned_overflow_total: int = 0
    pruned_orphan_total: int = 0
    redacted_fields_total: int = 0
    ranked_candidates_total: int = 0
    prompt_limit_omitted_total: int = 0


@dataclass(slots=True)
class PromptCounters(CounterSums):
    """What became of learnings that a prompt could have told of."""

    injected_total: int = 0
    prompt_limit_omitted_total: int = 0
