"""Reports and counters of run memory: what maintenance did, what prompts had injected."""

import threading
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from enum import StrEnum
from typing import Any, Final

MAX_DIAGNOSTICS: Final = 32
MAX_MESSAGE_CHARS: Final = 300
MAX_PATH_CHARS: Final = 300


class MaintenanceTrigger(StrEnum):
    """What started a maintenance pass."""

    STARTUP = "startup"
    RUNTIME_POLICY = "runtime_policy"


class MaintenanceAction(StrEnum):
    """What maintenance did or tried to do."""

    DELETE_RECORD = "delete_run_memory"
    DELETE_FILE = "delete_run_memory_file"
    SCAN = "scan_run_memory_store"
    REPLACE_INDEX = "replace_run_memory_index"


class MaintenanceReason(StrEnum):
    """Why it was done, or how it failed."""

    TTL_EXPIRED = "ttl_expired"
    SESSION_OVERFLOW = "session_overflow"
    ORPHAN_FILE = "orphan_file"
    DELETE_FAILED = "delete_failed"
    SCAN_FAILED = "scan_failed"
    INDEX_REPLACE_FAILED = "index_replace_failed"


# The reasons an action may have.
REASONS: Final[Mapping[MaintenanceAction, tuple[MaintenanceReason, ...]]] = {
    MaintenanceAction.DELETE_RECORD: (
        MaintenanceReason.TTL_EXPIRED,
        MaintenanceReason.SESSION_OVERFLOW,
        MaintenanceReason.DELETE_FAILED,
    ),
    MaintenanceAction.DELETE_FILE: (MaintenanceReason.ORPHAN_FILE, MaintenanceReason.DELETE_FAILED),
    MaintenanceAction.SCAN: (MaintenanceReason.SCAN_FAILED,),
    MaintenanceAction.REPLACE_INDEX: (MaintenanceReason.INDEX_REPLACE_FAILED,),
}
FAILURES: Final = frozenset(
    {
        MaintenanceReason.DELETE_FAILED,
        MaintenanceReason.SCAN_FAILED,
        MaintenanceReason.INDEX_REPLACE_FAILED,
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnostic:
    """One action of maintenance that was done or failed."""

    action: MaintenanceAction
    reason: MaintenanceReason
    run_id: str | None = None
    path: str | None = None
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The report of the last maintenance pass."""

    checked_at_ms: int = 0
    source: MaintenanceTrigger | None = None
    index_rebuilt: bool = False
    pruned_ttl_count: int = 0
    pruned_overflow_count: int = 0
    pruned_orphan_file_count: int = 0
    scan_error_count: int = 0
    prune_error_count: int = 0
    diagnostics: tuple[Diagnostic, ...] = ()

    @property
    def is_failed(self) -> bool:
        """Whether an action failed."""
        return bool(self.scan_error_count or self.prune_error_count)

    @property
    def pruned_count(self) -> int:
        """How many records and files were deleted."""
        return self.pruned_ttl_count + self.pruned_overflow_count + self.pruned_orphan_file_count


def report_json(report: Report) -> dict[str, Any]:
    """The report as status and doctor show it, without None fields."""
    shown = _present(asdict(report))
    shown["diagnostics"] = [_present(asdict(each)) for each in report.diagnostics]
    return shown


# The counter of each reason.
COUNTED: Final[Mapping[MaintenanceReason, str]] = {
    MaintenanceReason.TTL_EXPIRED: "pruned_ttl_count",
    MaintenanceReason.SESSION_OVERFLOW: "pruned_overflow_count",
    MaintenanceReason.ORPHAN_FILE: "pruned_orphan_file_count",
    MaintenanceReason.SCAN_FAILED: "scan_error_count",
    MaintenanceReason.DELETE_FAILED: "prune_error_count",
    MaintenanceReason.INDEX_REPLACE_FAILED: "prune_error_count",
}


@dataclass(slots=True)
class ReportTally:
    """Builds a report; failures are listed first."""

    checked_at_ms: int
    source: MaintenanceTrigger
    _counts: dict[str, int] = field(default_factory=dict)
    _failures: list[Diagnostic] = field(default_factory=list)
    _notes: list[Diagnostic] = field(default_factory=list)

    def add(
        self,
        action: MaintenanceAction,
        reason: MaintenanceReason,
        message: str,
        *,
        run_id: str | None = None,
        path: str | None = None,
    ) -> None:
        """Count one action, and list it up to the limit."""
        name = COUNTED[reason]
        self._counts[name] = self._counts.get(name, 0) + 1
        told = self._failures if reason in FAILURES else self._notes
        if len(told) < MAX_DIAGNOSTICS:
            told.append(
                Diagnostic(
                    action=action,
                    reason=reason,
                    run_id=None if run_id is None else _shown(run_id, MAX_PATH_CHARS),
                    path=None if path is None else _shown(path, MAX_PATH_CHARS),
                    message=_shown(message, MAX_MESSAGE_CHARS),
                )
            )

    def take_back(self) -> None:
        """Drop what was done, after a rollback; failures stay."""
        for reason in COUNTED.keys() - FAILURES:
            self._counts.pop(COUNTED[reason], None)
        self._notes.clear()

    def report(self, *, index_rebuilt: bool) -> Report:
        """The finished report."""
        return Report(
            checked_at_ms=self.checked_at_ms,
            source=self.source,
            index_rebuilt=index_rebuilt,
            diagnostics=tuple([*self._failures, *self._notes][:MAX_DIAGNOSTICS]),
            **self._counts,
        )


def _shown(text: str, limit: int) -> str:
    # File names may contain bytes that are no valid text.
    return text.encode("utf-8", "backslashreplace").decode()[:limit]


def _present(values: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: str(value) if isinstance(value, StrEnum) else value
        for name, value in values.items()
        if value is not None
    }


@dataclass(slots=True)
class CounterSums:
    """Counters; safe to use from several threads."""

    _lock: Any = field(default_factory=threading.Lock, repr=False, compare=False)

    def add(self, **amounts: int) -> None:
        """Add to several counters atomically, by name."""
        with self._lock:
            for name, amount in amounts.items():
                setattr(self, name, getattr(self, name) + amount)

    def snapshot(self) -> dict[str, int]:
        """All counters at one moment."""
        with self._lock:
            return {
                each.name: getattr(self, each.name)
                for each in fields(self)
                if not each.name.startswith("_")
            }


@dataclass(slots=True)
class Counters(CounterSums):
    """Counters of run memories."""

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
    """Counters of learnings considered for prompts."""

    injected_total: int = 0
    prompt_limit_omitted_total: int = 0
    below_floor_total: int = 0
