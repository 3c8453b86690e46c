"""What the daemon kept of a run bears a candidate out, as far as it can be read and believed."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import sqlalchemy as sa

from tests.support.factories import NOW, make_run
from tests.support.review_factories import found
from tests.support.run_memory_harness import make_record
from understudy.learnings.model import EvidenceRef, Kind, LearningSource, Origin
from understudy.memory.record import RunEvidence, RunMemoryRecord
from understudy.review.verify import Support, support_for
from understudy.runs.artifacts import new_artifact
from understudy.runs.model import RunStatus
from understudy.storage.schema import artifacts
from understudy.storage.unit import Units

HELIX = "Preferred editor is Helix"


def supported(units: Units, **fields: object) -> Support | None:
    with units.read() as unit:
        return support_for(unit, found(HELIX, **fields), now_ms=NOW)


def keep(units: Units, record: RunMemoryRecord, evidence: RunEvidence | None = None) -> None:
    with units.write() as unit:
        unit.runs.add(make_run(run_id=record.run_id, status=RunStatus.COMPLETED))
        unit.run_memory_index.add(record, stamp=unit.run_memories.put(record))
        if evidence is not None:
            unit.run_memory_index.keep_evidence(evidence)


def test_the_preview_of_the_request_counts(units: Units) -> None:
    keep(units, make_record("run_1", request_preview=HELIX))

    assert supported(units) == Support(run_id="run_1", where="request")


NOT_BY_USER = {
    "outcome": {"outcome_preview": HELIX},
    "summary": {"summary": f"Request: hello\nResult: {HELIX}"},
    "failure": {"failure_markers": ("failed", f"error: {HELIX}")},
}


@pytest.mark.parametrize("fields", NOT_BY_USER.values(), ids=NOT_BY_USER)
def test_what_the_run_itself_says_does_not_count(units: Units, fields: dict[str, Any]) -> None:
    keep(units, make_record("run_1", request_preview="hello", **fields))

    assert supported(units) == Support(run_id="run_1", where="request", is_found=False)


LONG = "Some words. " * 60 + f"Fact: {HELIX}."


def test_the_longer_copy_of_the_request_counts(units: Units) -> None:
    evidence = RunEvidence(run_id="run_1", request=LONG, outcome="hi")
    keep(units, make_record("run_1"), evidence)

    assert supported(units) == Support(run_id="run_1", where="request")


def test_the_longer_copy_of_the_outcome_does_not_count(units: Units) -> None:
    keep(units, make_record("run_1"), RunEvidence(run_id="run_1", request="hello", outcome=LONG))

    assert supported(units) == Support(run_id="run_1", where="request", is_found=False)


def test_a_run_without_previews_says_nothing(units: Units) -> None:
    keep(units, make_record("run_1", request_preview=None, outcome_preview=None, summary=""))

    assert supported(units) is None


WITHOUT = {
    "no run": {"source": LearningSource(session_id="s1")},
    "evidence of another run": {"evidence_refs": (EvidenceRef(run_id="run_2"),)},
    "no evidence": {"evidence_refs": ()},
    "proposed by somebody": {"origin": Origin.API},
    "a procedure": {"kind": Kind.PROCEDURE},
    "another run": {"run_id": "run_2"},
}


@pytest.mark.parametrize("fields", WITHOUT.values(), ids=WITHOUT)
def test_what_does_not_come_from_the_run_is_not_supported_by_it(
    units: Units, fields: dict[str, object]
) -> None:
    keep(units, make_record("run_1", request_preview=HELIX))

    assert supported(units, **fields) is None


def damaged(units: Units, record: RunMemoryRecord) -> None:
    keep(units, record)
    with units.write() as unit:
        unit.run_memories.put(replace(record, session_id="s2"))


def missing(units: Units, record: RunMemoryRecord) -> None:
    keep(units, record)
    with units.write() as unit:
        unit.run_memories.delete(["run_1"])


@pytest.mark.parametrize("spoil", [damaged, missing])
def test_a_record_that_cannot_be_believed_supports_nothing(
    units: Units, spoil: Callable[[Units, RunMemoryRecord], None]
) -> None:
    spoil(units, make_record("run_1", request_preview=HELIX))

    assert supported(units) is None


def test_only_artifacts_of_the_run_that_can_be_read_count(units: Units) -> None:
    run, other = make_run(run_id="run_1"), make_run(run_id="run_2")
    told = [
        new_artifact(HELIX, run_id=run_id, call_key=key, tool_name="shell", at_ms=NOW)
        for run_id, key in (("run_1", "torn"), ("run_1", "fine"), ("run_2", "other"))
    ]
    with units.write() as unit:
        for each in (run, other):
            unit.runs.add(each)
        for artifact in told:
            unit.artifacts.add(artifact)
        unit.connection.execute(
            sa.update(artifacts)
            .where(artifacts.c.artifact_id == told[0].artifact_id)
            .values(content=b"torn")
        )
    torn, fine, others = (EvidenceRef(run_id="run_1", artifact_id=it.artifact_id) for it in told)
    gone = EvidenceRef(run_id="run_1", artifact_id="art_gone")

    assert supported(units, evidence_refs=(gone, torn, others)) is None
    found_in = supported(units, evidence_refs=(gone, torn, fine))
    where = f"artifact {fine.artifact_id}"
    assert found_in == Support(run_id="run_1", where=where, is_by_tool=True)
