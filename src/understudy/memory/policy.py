"""The run-memory policy: how much is kept, for how long, and who may find it."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from understudy.core.clock import DAY_MS
from understudy.core.errors import FieldError, Invalid
from understudy.core.pointer import pointer
from understudy.runtime.service import current_revision

if TYPE_CHECKING:
    from understudy.storage.unit import Unit

SETTING: Final = "run_memory_policy"
MAX_TRACKED: Final = 10_000
MAX_NUMBER: Final = 2**53 - 1


class SearchVisibility(StrEnum):
    """Whose runs a search may find."""

    SESSION_ONLY = "session_only"
    LEARNING_SCOPES = "learning_scopes"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunMemoryPolicy:
    """What an operator decides about run memory."""

    enabled: bool = True
    retention_ms: int = 30 * DAY_MS
    max_tracked_per_session: int = 32
    max_prompt_entries: int = 3
    redact_pii: bool = True
    search_visibility: SearchVisibility = SearchVisibility.SESSION_ONLY
    # The share of a query's weight that an entry must cover to reach the prompt; 0 is off.
    relevance_floor: float = 0.0

    def is_expired(self, recorded_at_ms: int, *, now_ms: int) -> bool:
        """Whether a record is past its time; while disabled every one is."""
        return recorded_at_ms < self.expired_before_ms(now_ms)

    def expired_before_ms(self, now_ms: int) -> int:
        """The time from before which nothing is kept."""
        return now_ms - self.retention_ms if self.enabled else MAX_NUMBER


DEFAULT: Final = RunMemoryPolicy()


def policy_in(unit: "Unit") -> RunMemoryPolicy:
    """The policy in force."""
    return usable_policy(current_revision(unit).document)


def usable_policy(document: Mapping[str, Any]) -> RunMemoryPolicy:
    """The policy of a runtime document; the default where it is damaged, so that runs go on."""
    try:
        return stored_policy(document)
    except Invalid:
        return DEFAULT


def stored_policy(document: Mapping[str, Any]) -> RunMemoryPolicy:
    """The policy of a runtime document; the default where it sets none; `Invalid` if damaged."""
    stored = document.get(SETTING)
    return DEFAULT if stored is None else read_policy(stored)


def policy_json(policy: RunMemoryPolicy) -> dict[str, Any]:
    """The policy as it is stored and shown."""
    return {**asdict(policy), "search_visibility": str(policy.search_visibility)}


def read_policy(given: Any) -> RunMemoryPolicy:
    """A policy as somebody gave it; what is left out takes its default, what is wrong is named."""
    if not isinstance(given, Mapping):
        errors = [FieldError(pointer="", code="wrong_value", detail="must be an object")]
    else:
        errors = [*_unknown(given), *_wrong_types(given)]
    if not errors:
        visibility = given.get("search_visibility", DEFAULT.search_visibility)
        policy = replace(DEFAULT, **{**given, "search_visibility": SearchVisibility(visibility)})
        errors = _out_of_bounds(policy)
        if not errors:
            return policy
    raise Invalid(
        "invalid_run_memory_policy",
        domain="runtime",
        detail="; ".join(f"{error.pointer[1:]}: {error.detail}" for error in errors),
        errors=tuple(errors),
    )


_NUMBERS: Final = ("retention_ms", "max_tracked_per_session", "max_prompt_entries")


def _is_share(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1


# What each field takes, and how that is said.
_TYPES: Final[Mapping[str, tuple[Any, str]]] = {
    "enabled": (lambda value: isinstance(value, bool), "must be true or false"),
    "redact_pii": (lambda value: isinstance(value, bool), "must be true or false"),
    "search_visibility": (
        lambda value: isinstance(value, str) and value in set(SearchVisibility),
        "must be session_only or learning_scopes",
    ),
    "relevance_floor": (_is_share, "must be a number from 0 to 1"),
    **{
        name: (
            lambda value: type(value) is int and 0 <= value <= MAX_NUMBER,
            "must be a whole number from 0",
        )
        for name in _NUMBERS
    },
}


def _unknown(given: Mapping[str, Any]) -> list[FieldError]:
    return [
        FieldError(pointer=pointer([name]), code="unknown_field", detail="no such field")
        for name in given
        if name not in _TYPES
    ]


def _wrong_types(given: Mapping[str, Any]) -> list[FieldError]:
    return [
        FieldError(pointer=f"/{name}", code="wrong_value", detail=says)
        for name, (fits, says) in _TYPES.items()
        if name in given and not fits(given[name])
    ]


def _out_of_bounds(policy: RunMemoryPolicy) -> list[FieldError]:
    errors = [
        FieldError(
            pointer=f"/{name}", code="too_small", detail="must be above 0 while memory is enabled"
        )
        for name in _NUMBERS
        if policy.enabled and getattr(policy, name) == 0
    ]
    if policy.max_prompt_entries > policy.max_tracked_per_session:
        errors.append(
            FieldError(
                pointer="/max_prompt_entries",
                code="too_large",
                detail="must not exceed max_tracked_per_session",
            )
        )
    if policy.max_tracked_per_session > MAX_TRACKED:
        errors.append(
            FieldError(
                pointer="/max_tracked_per_session",
                code="too_large",
                detail=f"must not exceed {MAX_TRACKED}",
            )
        )
    return errors
