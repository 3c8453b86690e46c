"""State machines as tables that code reads, docs print and tests walk."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, TypeVar

from understudy.core.errors import InvalidTransition

S = TypeVar("S", bound=StrEnum)


@dataclass(frozen=True, slots=True)
class Machine(Generic[S]):
    """The transition table: which state may follow which; staying in a state is always allowed."""

    name: str
    steps: Mapping[S, frozenset[S]]
    conflict_code: str
    domain: str

    def allows(self, current: S, target: S) -> bool:
        """Whether `target` may follow `current`."""
        return target == current or target in self.steps.get(current, frozenset())

    def check(self, current: S, target: S) -> None:
        """Raise `InvalidTransition` unless `target` may follow `current`."""
        if not self.allows(current, target):
            raise InvalidTransition(
                self.conflict_code,
                domain=self.domain,
                detail=f"{self.name} cannot go from {current} to {target}",
                params={"from": str(current), "to": str(target)},
            )

    def allowed(self, current: S) -> tuple[S, ...]:
        """The states that may follow, in name order."""
        return tuple(sorted(self.steps.get(current, frozenset())))

    @property
    def terminal(self) -> frozenset[S]:
        """States without a following state."""
        return frozenset(state for state, following in self.steps.items() if not following)

    def mermaid(self) -> str:
        """The machine as a Mermaid state diagram."""
        lines = ["stateDiagram-v2"]
        for state, following in self.steps.items():
            lines += [f"    {state} --> {target}" for target in sorted(following)]
        lines += [f"    {state} --> [*]" for state in sorted(self.terminal)]
        return "\n".join(lines)
