"""Which records are to go: those past their time, and those beyond what a session may have."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from understudy.core.clock import DAY_MS
from understudy.memory.policy import RunMemoryPolicy
from understudy.memory.record import Pointer, SemanticCapture

# So long something may still be learned from a record that is no longer among the newest.
PENDING_KEPT_MS: Final = DAY_MS


@dataclass(frozen=True, slots=True, kw_only=True)
class Doomed:
    """What is to go, and why; what is both too old and too many counts as too old."""

    expired: tuple[Pointer, ...] = ()
    overflow: tuple[Pointer, ...] = ()

    @property
    def run_ids(self) -> tuple[str, ...]:
        """All of them."""
        return tuple(pointer.run_id for pointer in (*self.expired, *self.overflow))


def newest_first(pointers: Sequence[Pointer]) -> list[Pointer]:
    """The order of the index: by time, then by run id, both descending."""
    return sorted(pointers, key=lambda it: (it.recorded_at_ms, it.run_id), reverse=True)


def doomed(
    pointers: Sequence[Pointer], policy: RunMemoryPolicy, *, now_ms: int, newer: int = 0
) -> Doomed:
    """What is to go of a session's pointers, newest first; so many `newer` ones are not shown."""
    room = max(policy.max_tracked_per_session - newer, 0)
    expired = tuple(it for it in pointers if policy.is_expired(it.recorded_at_ms, now_ms=now_ms))
    living = [it for it in pointers if not policy.is_expired(it.recorded_at_ms, now_ms=now_ms)]
    overflow = tuple(it for it in living[room:] if not is_awaited(it, now_ms=now_ms))
    return Doomed(expired=expired, overflow=overflow)


def is_awaited(pointer: Pointer, *, now_ms: int) -> bool:
    """Whether somebody still has to learn from it, and may still be expected to."""
    return (
        pointer.semantic_capture is SemanticCapture.PENDING
        and now_ms - pointer.recorded_at_ms <= PENDING_KEPT_MS
    )
