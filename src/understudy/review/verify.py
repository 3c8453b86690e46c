"""Whether the daemon's own records of a run support what a candidate says."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from understudy.core.errors import DamagedRecord
from understudy.learnings.model import SEMANTIC_KINDS, Candidate, Origin
from understudy.learnings.quotations import own_words
from understudy.memory.doubts import doubt
from understudy.memory.policy import policy_in
from understudy.memory.record import RunMemory
from understudy.review.entailment import is_said, is_said_exactly

if TYPE_CHECKING:
    from understudy.storage.unit import Unit

# What a tool answered is long; so many are opened, and so much of each is read.
MAX_ARTIFACTS: Final = 8
MAX_BODY_CHARS: Final = 1024 * 1024
_MARKS: Final = re.compile('["`“”„«»\u2039\u203a「」『』《》]')


@dataclass(frozen=True, slots=True, kw_only=True)
class Support:
    """Where a candidate was found to be said."""

    run_id: str
    # The request, the outcome, a part of the run memory, or an artifact.
    where: str
    # Whether it is what a tool answered, and nobody's word.
    is_by_tool: bool = False


def support_for(unit: "Unit", candidate: Candidate, *, now_ms: int) -> Support | None:
    """What bears a candidate out; None where nothing that the daemon kept does."""
    run_id = candidate.source.run_id
    if run_id is None or all(ref.run_id != run_id for ref in candidate.evidence_refs):
        return None
    if candidate.origin is Origin.DAEMON and candidate.kind in SEMANTIC_KINDS:
        for where, text in _kept(unit, run_id, now_ms=now_ms):
            if is_said(candidate.content, _vouched_for(candidate.content, text)):
                return Support(run_id=run_id, where=where)
    for artifact_id, body in _bodies(unit, candidate, run_id):
        if is_said_exactly(candidate.content, body):
            return Support(run_id=run_id, where=f"artifact {artifact_id}", is_by_tool=True)
    return None


def _kept(unit: "Unit", run_id: str, *, now_ms: int) -> Iterator[tuple[str, str]]:
    """What is kept of a run, named; nothing of one that is past its time."""
    pointer = unit.run_memory_index.get(run_id)
    if pointer is None or policy_in(unit).is_expired(pointer.recorded_at_ms, now_ms=now_ms):
        return
    evidence = unit.run_memory_index.evidence(run_id)
    if evidence is not None:
        yield "request", evidence.request
        yield "outcome", evidence.outcome
    memory = _memory(unit, run_id, session_id=pointer.session_id)
    if memory is None:
        return
    # A preview has the same words, and no longer shows who they were quoted from.
    if evidence is None:
        yield "request", memory.request_preview or ""
        yield "outcome", memory.outcome_preview or ""
        yield "summary", memory.summary
    for marker in memory.failure_markers:
        yield "failure", marker


def _vouched_for(content: str, text: str) -> str:
    """What a text says itself, without what it quotes; a statement may itself have marks in it."""
    return own_words(text, with_marked=bool(_MARKS.search(content)))


def _memory(unit: "Unit", run_id: str, *, session_id: str) -> RunMemory | None:
    """The memory of a run, if it can be read and believed."""
    try:
        record = unit.run_memories.get(run_id)
    except DamagedRecord:
        return None
    if record is None or doubt(record, session_id=session_id) is not None:
        return None
    return record.memory


def _bodies(unit: "Unit", candidate: Candidate, run_id: str) -> Iterator[tuple[str, str]]:
    """The artifacts of its own run that a candidate refers to."""
    named = dict.fromkeys(
        ref.artifact_id for ref in candidate.evidence_refs if ref.run_id == run_id
    )
    for artifact_id in [it for it in named if it is not None][:MAX_ARTIFACTS]:
        try:
            artifact = unit.artifacts.get(run_id, artifact_id)
        except DamagedRecord:
            continue
        if artifact is not None:
            yield artifact_id, artifact.content[:MAX_BODY_CHARS]
