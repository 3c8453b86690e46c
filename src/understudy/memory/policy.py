"""The run-memory policy: how much is kept, for how long, and who may find it."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Final

from pydantic import AfterValidator, StrictBool

from understudy.core.clock import DAY_MS
from understudy.runtime.policy import Number, PolicyKind, Whole, check
from understudy.runtime.service import INITIAL, current_revision

if TYPE_CHECKING:
    from understudy.storage.unit import Unit

MAX_TRACKED: Final = 10_000
MAX_NUMBER: Final = 2**53 - 1


class SearchVisibility(StrEnum):
    """Whose runs a search may find."""

    SESSION_ONLY = "session_only"
    LEARNING_SCOPES = "learning_scopes"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunMemoryPolicy:
    """The policy of run memory."""

    enabled: StrictBool = True
    retention_ms: Annotated[int, Whole(0, MAX_NUMBER)] = 30 * DAY_MS
    max_tracked_per_session: Annotated[int, Whole(0, MAX_NUMBER)] = 32
    max_prompt_entries: Annotated[int, Whole(0, MAX_NUMBER)] = 3
    redact_pii: StrictBool = True
    search_visibility: SearchVisibility = SearchVisibility.SESSION_ONLY
    # The share of a query's weight that an entry must cover to reach the prompt; 0 is off.
    relevance_floor: Annotated[float, Number(0, 1)] = 0.0
    # Whether runs are also recovered while the whole conversation is still verbatim in the prompt.
    recover_conversation: StrictBool = True

    def is_expired(self, recorded_at_ms: int, *, now_ms: int) -> bool:
        """Whether a record is expired; while memory is disabled, every record is."""
        return recorded_at_ms < self.expired_before_ms(now_ms)

    def expired_before_ms(self, now_ms: int) -> int:
        """Records made before this time are expired."""
        return now_ms - self.retention_ms if self.enabled else MAX_NUMBER


def _checked(policy: RunMemoryPolicy) -> RunMemoryPolicy:
    check(_out_of_bounds(policy))
    return policy


def _out_of_bounds(policy: RunMemoryPolicy) -> Iterator[tuple[str, str, str]]:
    for name in ("retention_ms", "max_tracked_per_session", "max_prompt_entries"):
        if policy.enabled and getattr(policy, name) == 0:
            yield name, "too_small", "must be above 0 while memory is enabled"
    if policy.max_prompt_entries > policy.max_tracked_per_session:
        yield "max_prompt_entries", "too_large", "must not exceed max_tracked_per_session"
    if policy.max_tracked_per_session > MAX_TRACKED:
        yield "max_tracked_per_session", "too_large", f"must not exceed {MAX_TRACKED}"


DEFAULT: Final = RunMemoryPolicy()
RUN_MEMORY_POLICY: Final[PolicyKind[RunMemoryPolicy]] = PolicyKind(
    setting="run_memory_policy",
    code="invalid_run_memory_policy",
    shape=Annotated[RunMemoryPolicy, AfterValidator(_checked)],
    default=DEFAULT,
    # A damaged policy does not stop runs: the default counts.
    damaged=DEFAULT,
)


def policy_in(unit: "Unit") -> RunMemoryPolicy:
    """The policy in force."""
    return RUN_MEMORY_POLICY.usable(current_revision(unit).document)


def stored_policy(unit: "Unit") -> RunMemoryPolicy:
    """The policy in force, also where another daemon has just changed it."""
    return RUN_MEMORY_POLICY.usable((unit.revisions.stored() or INITIAL).document)
