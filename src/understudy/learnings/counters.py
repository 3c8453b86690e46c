"""What the learning plane did since this process began."""

import threading
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from understudy.learnings.model import CapturePath, PolicyDecision, ReviewAction


@dataclass(slots=True)
class LearningCounters:
    """An observer that counts; several threads may tell it."""

    _candidates: Counter[CapturePath] = field(default_factory=Counter)
    _reviews: Counter[ReviewAction] = field(default_factory=Counter)
    _publications: Counter[PolicyDecision] = field(default_factory=Counter)
    _judge_failures: int = 0
    _lock: Any = field(default_factory=threading.Lock, repr=False)

    def candidate_proposed(self, path: CapturePath) -> None:
        """A candidate was made."""
        with self._lock:
            self._candidates[path] += 1

    def candidate_reviewed(self, action: ReviewAction) -> None:
        """Automation made up its mind about a candidate."""
        with self._lock:
            self._reviews[action] += 1

    def judge_failed(self) -> None:
        """The judge did not answer, or not in a way that can be used."""
        with self._lock:
            self._judge_failures += 1

    def learning_published(self, decision: PolicyDecision) -> None:
        """A learning was made."""
        with self._lock:
            self._publications[decision] += 1

    def snapshot(self) -> dict[str, dict[str, int]]:
        """All of them as they stand together, each by what it is counted by."""
        with self._lock:
            return {
                "candidates_total": {str(path): self._candidates[path] for path in CapturePath},
                "reviews_total": {str(action): self._reviews[action] for action in ReviewAction},
                "judge_failures_total": {"": self._judge_failures},
                "publications_total": {
                    str(decision): self._publications[decision] for decision in PolicyDecision
                },
            }
