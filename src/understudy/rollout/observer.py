"""What rollouts did since this process began."""

import threading
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from understudy.rollout.model import EvidenceKind, Proof, RolloutEventName
from understudy.rollout.outcome import SkillOutcome
from understudy.rollout.stages import Stage


@dataclass(slots=True)
class RolloutCounters:
    """What rollouts did since this process began; several threads may tell it."""

    _events: Counter[RolloutEventName] = field(default_factory=Counter)
    _evidence: Counter[tuple[EvidenceKind, Proof, bool]] = field(default_factory=Counter)
    _uses: Counter[tuple[Stage, SkillOutcome]] = field(default_factory=Counter)
    _lock: Any = field(default_factory=threading.Lock, repr=False)

    def happened(self, event: RolloutEventName) -> None:
        """Something happened to a rollout."""
        with self._lock:
            self._events[event] += 1

    def shown(self, kind: EvidenceKind, proof: Proof, *, success: bool) -> None:
        """A run was accepted as evidence."""
        with self._lock:
            self._evidence[kind, proof, success] += 1

    def used(self, stage: Stage, outcome: SkillOutcome) -> None:
        """A run that used a promoted skill has ended."""
        with self._lock:
            self._uses[stage, outcome] += 1

    def snapshot(self) -> dict[str, dict[str, int]]:
        """All of them as they stand together, each by what it is counted by."""
        with self._lock:
            return {
                "events_total": {str(event): self._events[event] for event in RolloutEventName},
                "evidence_total": {
                    f"{kind}_{proof}_{'success' if success else 'failure'}": self._evidence[
                        kind, proof, success
                    ]
                    for kind in EvidenceKind
                    for proof in Proof
                    for success in (True, False)
                },
                "uses_total": {
                    f"{stage}_{outcome}": self._uses[stage, outcome]
                    for stage in Stage
                    for outcome in SkillOutcome
                },
            }
