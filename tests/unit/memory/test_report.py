"""A report is bounded, counts everything, and tells of failures first."""

import json

import pytest

from tests.support.factories import NOW
from understudy.memory.report import (
    COUNTED,
    FAILURES,
    REASONS,
    MaintenanceAction,
    MaintenanceReason,
    MaintenanceTrigger,
    Report,
    ReportTally,
    report_json,
)

SPECIFIED = {
    "delete_run_memory": ["ttl_expired", "session_overflow", "delete_failed"],
    "delete_run_memory_file": ["orphan_file", "delete_failed"],
    "scan_run_memory_store": ["scan_failed"],
    "replace_run_memory_index": ["index_replace_failed"],
}


def test_actions_and_reasons_are_as_specified() -> None:
    assert {str(action): [str(it) for it in reasons] for action, reasons in REASONS.items()} == (
        SPECIFIED
    )
    assert set(COUNTED) == set(MaintenanceReason)


def test_only_so_much_is_told_but_everything_is_counted() -> None:
    tally = ReportTally(NOW, MaintenanceTrigger.STARTUP)
    for number in range(100):
        tally.add(
            MaintenanceAction.DELETE_RECORD,
            MaintenanceReason.TTL_EXPIRED,
            "old",
            run_id=f"run-{number}",
        )

    shown = report_json(tally.report(index_rebuilt=True))

    assert (shown["pruned_ttl_count"], len(shown["diagnostics"])) == (100, 32)
    assert shown["diagnostics"][0] == {
        "action": "delete_run_memory",
        "reason": "ttl_expired",
        "run_id": "run-0",
        "message": "old",
    }


@pytest.mark.parametrize("reason", sorted(FAILURES))
def test_a_failure_is_told_however_much_else_there_is(reason: MaintenanceReason) -> None:
    tally = ReportTally(NOW, MaintenanceTrigger.RUNTIME_POLICY)
    for _ in range(100):
        tally.add(MaintenanceAction.DELETE_FILE, MaintenanceReason.ORPHAN_FILE, "alone", path="x")
    tally.add(MaintenanceAction.SCAN, reason, "broken")

    report = tally.report(index_rebuilt=False)

    assert report.diagnostics[0].reason is reason
    assert len(report.diagnostics) == 32
    assert report.is_failed
    tally.take_back()
    taken_back = tally.report(index_rebuilt=False)
    assert (taken_back.pruned_orphan_file_count, len(taken_back.diagnostics)) == (0, 1)
    assert taken_back.is_failed


def test_names_that_are_no_text_and_long_words_can_be_shown() -> None:
    tally = ReportTally(NOW, MaintenanceTrigger.STARTUP)
    tally.add(
        MaintenanceAction.DELETE_FILE,
        MaintenanceReason.ORPHAN_FILE,
        "x" * 9000,
        path="bad-\udcff",
        run_id="\ud800",
    )

    [told] = tally.report(index_rebuilt=True).diagnostics

    assert len(told.message) == 300
    json.dumps(report_json(tally.report(index_rebuilt=True)), ensure_ascii=False).encode()


def test_before_the_first_look_there_is_an_empty_report() -> None:
    assert report_json(Report()) == {
        "checked_at_ms": 0,
        "index_rebuilt": False,
        "pruned_ttl_count": 0,
        "pruned_overflow_count": 0,
        "pruned_orphan_file_count": 0,
        "scan_error_count": 0,
        "prune_error_count": 0,
        "diagnostics": [],
    }
