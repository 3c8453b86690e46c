"""Verification: whether the user said in the source run what a candidate says.

The evidence is the request alone: the outcome of a run and the results of its tools are not the
user's words. An artifact supports a statement word for word where the policy trusts tools.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from understudy.core.errors import DamagedRecord
from understudy.learnings.assertion import asserts_exactly, is_said_by_user
from understudy.learnings.model import SEMANTIC_KINDS, Candidate, Origin
from understudy.memory.policy import policy_in
from understudy.memory.record import RunMemory, doubt

if TYPE_CHECKING:
    from understudy.storage.unit import Unit

# Results of tools are long: the most that are read, and the most bytes of each.
MAX_ARTIFACTS: Final = 8
MAX_BODY_CHARS: Final = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Support:
    """Where the statement of a candidate was looked for, and whether it was found."""

    run_id: str
    # The request, or an artifact.
    where: str
    # Whether it is the result of a tool.
    is_by_tool: bool = False
    is_found: bool = True


def support_for(unit: "Unit", candidate: Candidate, *, now_ms: int) -> Support | None:
    """The text of the source run that supports a candidate or fails to; None without any text."""
    run_id = candidate.source.run_id
    if run_id is None or all(ref.run_id != run_id for ref in candidate.evidence_refs):
        return None
    request = ""
    if candidate.origin is Origin.DAEMON and candidate.kind in SEMANTIC_KINDS:
        request = _request(unit, run_id, now_ms=now_ms)
        if is_said_by_user(candidate.content, request):
            return Support(run_id=run_id, where="request")
    for artifact_id, body in _bodies(unit, candidate, run_id):
        if asserts_exactly(candidate.content, body):
            return Support(run_id=run_id, where=f"artifact {artifact_id}", is_by_tool=True)
    return Support(run_id=run_id, where="request", is_found=False) if request else None


def _request(unit: "Unit", run_id: str, *, now_ms: int) -> str:
    """The stored request of a run, or its preview; empty if its record is expired or doubtful."""
    pointer = unit.run_memory_index.get(run_id)
    if pointer is None or policy_in(unit).is_expired(pointer.recorded_at_ms, now_ms=now_ms):
        return ""
    evidence = unit.run_memory_index.evidence(run_id)
    if evidence is not None:
        return evidence.request
    memory = _memory(unit, run_id, session_id=pointer.session_id)
    return memory.request_preview or "" if memory is not None else ""


def _memory(unit: "Unit", run_id: str, *, session_id: str) -> RunMemory | None:
    """The run memory of a run, if it is readable and not doubtful."""
    try:
        record = unit.run_memories.get(run_id)
    except DamagedRecord:
        return None
    if record is None or doubt(record, session_id=session_id) is not None:
        return None
    return record.memory


def _bodies(unit: "Unit", candidate: Candidate, run_id: str) -> Iterator[tuple[str, str]]:
    """The artifacts of the source run that a candidate refers to."""
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
