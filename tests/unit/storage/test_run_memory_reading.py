"""One record that breaks its reader is unreadable, named, and nobody else's trouble."""

from typing import Any

import pytest
from structlog.testing import capture_logs

from tests.support.run_memory_harness import make_record
from understudy.core.errors import DamagedRecord
from understudy.memory.record import record_json
from understudy.storage.run_memory_rows import read_memory


@pytest.mark.parametrize("problem", [ZeroDivisionError, MemoryError, RecursionError, ValueError])
def test_whatever_goes_wrong_with_one_record_is_damage(problem: type[Exception]) -> None:
    def load() -> Any:
        raise problem("with words of the record")

    with capture_logs() as logged, pytest.raises(DamagedRecord, match="run-1"):
        read_memory("run-1", load)

    [told] = logged
    assert (told["event"], told["run_id"], told["problem"]) == (
        "run_memory.unreadable",
        "run-1",
        problem.__name__,
    )
    assert "words" not in str(told)


def test_a_record_of_another_run_is_damage() -> None:
    with pytest.raises(DamagedRecord):
        read_memory("run-1", lambda: record_json(make_record("run-2")))
    assert read_memory("run-2", lambda: record_json(make_record("run-2"))).run_id == "run-2"
