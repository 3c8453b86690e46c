"""What the daemon kept of a run bears a candidate out, as far as it can be read and believed."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import sqlalchemy as sa

from tests.support.factories import ALICE, NOW, make_run
from tests.support.review_factories import found
from tests.support.run_memory_harness import make_record
from understudy.assets.contents import draft_of_bytes
from understudy.assets.contents import keep as keep_asset
from understudy.learnings.model import EvidenceRef, Kind, LearningSource, Origin
from understudy.memory.record import RunEvidence, RunMemoryRecord
from understudy.review.verify import Support, support_for
from understudy.runs.artifacts import new_artifact
from understudy.runs.model import DebugRequest, InputItem, RunInput, RunStatus
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
    done = RunStatus.COMPLETED
    run, other = (make_run(run_id=run_id, status=done) for run_id in ("run_1", "run_2"))
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


SHOWN: dict[str, tuple[str, list[dict[str, Any]], bool]] = {
    "typed": (f"{HELIX}.", [{"role": "user", "content": f"{HELIX}."}], True),
    "typed in parts": (
        f"{HELIX}.",
        [{"role": "user", "content": [{"type": "text", "text": f"{HELIX}."}]}],
        True,
    ),
    "typed before the tools answered": (
        f"{HELIX}.",
        [{"role": "user", "content": f"{HELIX}."}, {"role": "tool", "content": "done"}],
        True,
    ),
    "answered by a tool": (
        "hello",
        [{"role": "user", "content": "hello"}, {"role": "tool", "content": f"{HELIX}."}],
        False,
    ),
    "of an earlier run": (
        "hello",
        [{"role": "user", "content": f"{HELIX}."}, {"role": "user", "content": "hello"}],
        False,
    ),
    "added to the messages by the daemon": (
        "hello",
        [{"role": "user", "content": f"hello\n{HELIX}."}],
        False,
    ),
    "quoted": (f"> {HELIX}.", [{"role": "user", "content": f"> {HELIX}."}], False),
    "without messages": (f"{HELIX}.", [], False),
}


@pytest.mark.parametrize(("typed", "messages", "is_found"), SHOWN.values(), ids=SHOWN)
def test_of_a_captured_request_only_what_the_user_typed_counts(
    units: Units, typed: str, messages: list[dict[str, Any]], is_found: bool
) -> None:
    items = (InputItem(type="text", text=typed),)
    with units.write() as unit:
        unit.runs.add(make_run(run_id="run_1", input=RunInput(items=items)))
        unit.debug.add(
            DebugRequest(
                run_id="run_1", step=1, attempt=1, at_ms=NOW, request={"messages": messages}
            )
        )
        (capture,) = unit.debug.list("run_1")
    named = {"evidence_refs": (EvidenceRef(run_id="run_1", artifact_id=capture.artifact_id),)}

    support = supported(units, origin=Origin.API, **named)

    where = f"artifact {capture.artifact_id}"
    assert support == Support(run_id="run_1", where=where, is_found=is_found)


def test_an_input_file_counts_if_it_is_a_text_of_the_run(units: Units) -> None:
    drafts = [
        draft_of_bytes(f"{HELIX}.".encode(), file_name="a.txt"),
        draft_of_bytes(b"\x89PNG\r\n\x1a\n" + HELIX.encode(), file_name="a.png"),
        draft_of_bytes(f"{HELIX}!".encode(), file_name="other.txt"),
    ]
    with units.write() as unit:
        text, image, other = (keep_asset(unit, ALICE, it, now_ms=NOW)[0].asset_id for it in drafts)
        items = tuple(
            InputItem(type="asset_reference", asset_id=asset_id) for asset_id in (text, image)
        )
        run = make_run(run_id="run_1", status=RunStatus.COMPLETED, input=RunInput(items=items))
        unit.runs.add(run)

    def support(asset_id: str) -> Support | None:
        return supported(units, evidence_refs=(EvidenceRef(run_id="run_1", artifact_id=asset_id),))

    assert support(text) == Support(run_id="run_1", where=f"artifact {text}")
    assert support(image) is None
    assert support(other) is None
