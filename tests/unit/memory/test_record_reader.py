"""What is read as a record: all that capture makes, and nothing beyond."""

from typing import Any

import pytest

from tests.support.factories import make_run
from tests.support.run_memory_harness import make_record
from understudy.memory.capture import digest
from understudy.memory.record import MAX_ARTIFACT_IDS, read_record, record_json
from understudy.memory.texts import Cleaner
from understudy.runs.lifecycle import TERMINAL
from understudy.runs.model import InputItem, RunInput, RunStatus

# The most of everything.
FULLEST = make_record(
    "run-1",
    scope_keys=("session:s1", *(f"project:{number}".ljust(512, "x") for number in range(255))),
    summary="s" * 481,
    request_preview="r" * 161,
    outcome_preview="o" * 161,
    artifact_ids=("a" * 256,) * 1000,
    failure_markers=("m" * 200,) * 8,
)
TOO_MUCH: dict[str, dict[str, Any]] = {
    "summary": {"summary": "s" * 482},
    "request": {"request_preview": "r" * 162},
    "outcome": {"outcome_preview": "o" * 162},
    "artifacts": {"artifact_ids": ["a"] * 1001},
    "artifact": {"artifact_ids": ["a" * 257]},
    "markers": {"failure_markers": ["m"] * 9},
    "marker": {"failure_markers": ["m" * 201]},
    "status": {"status": "running"},
}
MISPLACED: dict[str, dict[str, Any]] = {
    "scopes": {"scope_keys": ["workspace:default"] * 257},
    "scope": {"scope_keys": ["project:".ljust(513, "x")]},
    "scope of another session": {"scope_keys": ["session:s1", "session:s2"]},
    "session": {"session_id": "s" * 257},
}


def with_memory(**fields: Any) -> dict[str, Any]:
    body = record_json(make_record("run-1"))
    return {**body, "memory": {**body["memory"], **fields}}


def test_the_fullest_record_is_read() -> None:
    assert read_record(record_json(FULLEST)) == FULLEST


@pytest.mark.parametrize(
    "body",
    [
        *(with_memory(**fields) for fields in TOO_MUCH.values()),
        *({**record_json(make_record("run-1")), **fields} for fields in MISPLACED.values()),
    ],
    ids=[*TOO_MUCH, *MISPLACED],
)
def test_what_no_capture_makes_is_no_record(body: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"."):
        read_record(body)


@pytest.mark.parametrize("status", RunStatus)
def test_only_the_status_of_an_ending_is_taken(status: RunStatus) -> None:
    body = with_memory(status=str(status))
    if status in TERMINAL:
        assert read_record(body).memory.status is status
    else:
        with pytest.raises(ValueError, match="not ended"):
            read_record(body)


@pytest.mark.parametrize("odd", ["\0", "\ud800", "half \ude00"], ids=ascii)
@pytest.mark.parametrize(
    "field", ["run_id", "summary", "request_preview", "artifact_ids", "failure_markers"]
)
def test_a_text_that_no_database_takes_is_no_text(field: str, odd: str) -> None:
    value = [odd] if field.endswith("s") else odd
    with pytest.raises(ValueError, match=r"."):
        read_record(with_memory(**{field: value}))
    with pytest.raises(ValueError, match=r"."):
        read_record(record_json(make_record("run-1", scope_keys=(odd,))))
    with pytest.raises(ValueError, match=r"."):
        read_record(record_json(make_record("run-1", odd)))


@pytest.mark.parametrize("status", sorted(TERMINAL))
@pytest.mark.parametrize(
    "letter", ["a", "ﷺ", "👩\u200d", "\0\ud800", "<redacted:card> "], ids=ascii
)
def test_whatever_a_run_said_its_memory_can_be_read(letter: str, status: RunStatus) -> None:
    long = letter * 5000
    run = make_run(
        status=status, error=long, input=RunInput(items=(InputItem(type="text", text=long),))
    )
    ids = tuple(f"art_{number}" for number in range(MAX_ARTIFACT_IDS + 500))

    made = digest(run, outcome=long, artifact_ids=ids, cleaner=Cleaner()).memory

    record = make_record(**{name: getattr(made, name) for name in made.__slots__})
    assert read_record(record_json(record)) == record
    assert made.artifact_ids == ids[:MAX_ARTIFACT_IDS]
