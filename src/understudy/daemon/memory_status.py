"""The memory part of `/v1/status`, and its warnings."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from understudy.daemon.health import warning

REPAIRS: Final = (
    ("pruned_ttl_count", "expired"),
    ("pruned_overflow_count", "beyond the limit of their session"),
    ("pruned_orphan_file_count", "without a run"),
)
# The advice for each failure.
ADVICE: Final[Mapping[str, str]] = {
    "scan_failed": "mend `run-memories` in the home, then restart or set the policy again",
    "delete_failed": "see that the daemon may delete in `run-memories`, then set the policy again",
    "index_replace_failed": "see the log of the daemon for it, then restart or set the policy again",
}
Finding = Iterator[dict[str, Any]]


def memory_sections(
    run_memory: Mapping[str, Any], session_metrics: Mapping[str, int]
) -> dict[str, Any]:
    """The parts of the status about memory."""
    return {
        "run_memory": dict(run_memory),
        "session_memory": {"metrics": dict(session_metrics)},
    }


def memory_warnings(run_memory: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Every finding about run memory, in the order of the rules."""
    return [found for rule in RULES for found in rule(run_memory)]


def _failed(run_memory: Mapping[str, Any]) -> Finding:
    report = run_memory.get("maintenance") or {}
    scans, prunes = report.get("scan_error_count", 0), report.get("prune_error_count", 0)
    if scans:
        yield warning(
            "warning",
            "run_memory_maintenance_failed",
            f"run memories could not be looked through{_why(report)}",
            action=ADVICE["scan_failed"],
        )
    elif prunes:
        yield warning(
            "warning",
            "run_memory_maintenance_failed",
            f"the upkeep of run memories failed {prunes} times{_why(report)}",
            action=_advice(report),
        )


def _stale(run_memory: Mapping[str, Any]) -> Finding:
    count = run_memory.get("stale_indexed_record_count", 0)
    if count:
        yield warning(
            "warning",
            "run_memory_stale_indexed_records",
            f"{count} run memories are past their time and not yet removed",
            action="nothing is to be done: no prompt tells of them, and they go when they are next met",
        )


def _unreadable(run_memory: Mapping[str, Any]) -> Finding:
    count = (run_memory.get("metrics") or {}).get("skipped_unreadable_total", 0)
    if count:
        yield warning(
            "warning",
            "run_memory_unreadable_records",
            f"a run memory that cannot be read was met {count} times since the start",
            action="look at the disk; `understudy memory list` shows which, `memory forget` ends it",
        )


def _postponed(run_memory: Mapping[str, Any]) -> Finding:
    count = run_memory.get("postponed_record_count", 0)
    if count:
        yield warning(
            "warning",
            "run_memory_records_postponed",
            f"{count} runs ended whose memory could not be written",
            action="free some space or mend the disk; they are made up for by themselves",
        )


def _repaired(run_memory: Mapping[str, Any]) -> Finding:
    report = run_memory.get("maintenance") or {}
    errors = report.get("scan_error_count", 0) + report.get("prune_error_count", 0)
    done = [f"{report[name]} {what}" for name, what in REPAIRS if report.get(name)]
    if done and not errors:
        yield warning(
            "info",
            "run_memory_repaired",
            f"run memories were tidied up; removed: {', '.join(done)}",
            action="nothing is to be done; `run_memory.maintenance` in the status tells which",
        )


def _why(report: Mapping[str, Any]) -> str:
    """The message of the first failure, with its run if that is known."""
    first = _first_failure(report)
    if first is None:
        return ""
    of = f" (run {first['run_id']})" if "run_id" in first else ""
    return f": {first['message']}{of}"


def _advice(report: Mapping[str, Any]) -> str:
    first = _first_failure(report)
    return ADVICE["delete_failed" if first is None else first["reason"]]


def _first_failure(report: Mapping[str, Any]) -> Mapping[str, Any] | None:
    return next((it for it in report.get("diagnostics", ()) if it["reason"] in ADVICE), None)


RULES: Final[tuple[Callable[[Mapping[str, Any]], Finding], ...]] = (
    _failed,
    _stale,
    _unreadable,
    _postponed,
    _repaired,
)
