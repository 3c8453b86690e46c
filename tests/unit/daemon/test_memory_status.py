"""What of run memory deserves a look."""

from typing import Any

import pytest

from understudy.daemon.memory_status import memory_sections, memory_warnings


def told(**run_memory: Any) -> list[tuple[str, str]]:
    return [(each["severity"], each["code"]) for each in memory_warnings(run_memory)]


def report(**counts: Any) -> dict[str, Any]:
    return {"maintenance": {"diagnostics": [], **counts}}


def test_good_order_needs_no_words() -> None:
    assert told() == []
    assert told(**report(scan_error_count=0), metrics={"skipped_unreadable_total": 0}) == []


@pytest.mark.parametrize(
    ("run_memory", "expected"),
    [
        (report(scan_error_count=1), ("warning", "run_memory_maintenance_failed")),
        (report(prune_error_count=1), ("warning", "run_memory_maintenance_failed")),
        (report(pruned_ttl_count=2), ("info", "run_memory_repaired")),
        (report(pruned_orphan_file_count=4), ("info", "run_memory_repaired")),
        ({"stale_indexed_record_count": 1}, ("warning", "run_memory_stale_indexed_records")),
        ({"postponed_record_count": 1}, ("warning", "run_memory_records_postponed")),
        (
            {"metrics": {"skipped_unreadable_total": 1}},
            ("warning", "run_memory_unreadable_records"),
        ),
    ],
)
def test_each_trouble_is_told_once(run_memory: dict[str, Any], expected: tuple[str, str]) -> None:
    assert told(**run_memory) == [expected]


def test_a_failed_repair_is_no_repair_and_says_why() -> None:
    failed = {"reason": "delete_failed", "message": "x.json cannot be removed"}
    run_memory = report(pruned_ttl_count=3, prune_error_count=1)
    run_memory["maintenance"]["diagnostics"] = [{"reason": "ttl_expired", "message": "y"}, failed]

    (warning,) = memory_warnings(run_memory)

    assert "x.json cannot be removed" in warning["message"]
    assert warning["action"]


@pytest.mark.parametrize(
    ("reason", "advised"),
    [("delete_failed", "may delete"), ("index_replace_failed", "the log of the daemon")],
)
def test_the_advice_fits_what_went_wrong(reason: str, advised: str) -> None:
    run_memory = report(prune_error_count=1)
    failed = {"reason": reason, "message": "not committed: ZeroDivisionError", "run_id": "run-1"}
    run_memory["maintenance"]["diagnostics"] = [failed]

    (warning,) = memory_warnings(run_memory)

    assert advised in warning["action"]
    assert warning["message"].endswith(": not committed: ZeroDivisionError (run run-1)")


def test_the_sections_have_their_shape() -> None:
    assert memory_sections({"metrics": {}}, {"prompt_limit_omitted_total": 2}) == {
        "run_memory": {"metrics": {}},
        "session_memory": {"metrics": {"prompt_limit_omitted_total": 2}},
    }
