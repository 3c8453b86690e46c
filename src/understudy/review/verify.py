"""Verification: whether the user said in the source run what a candidate says.

The evidence is what the user gave: the request, a captured request, an input file. The outcome of a
run is none, and the result of a tool counts only where the policy trusts tools.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from understudy.core.errors import Conflict, DamagedRecord, NotFound
from understudy.learnings.assertion import asserts_exactly, is_said_by_user
from understudy.learnings.model import SEMANTIC_KINDS, Candidate, Origin
from understudy.learnings.proof import ClauseProof, ProofLevel, ProofReason, prove
from understudy.learnings.quotations import own_words
from understudy.memory.policy import policy_in
from understudy.memory.record import RunMemory, doubt
from understudy.runs.artifacts import Artifact, artifact_text, find_artifact
from understudy.runs.lifecycle import TERMINAL
from understudy.runs.model import DebugRequest

if TYPE_CHECKING:
    from understudy.storage.unit import Unit

# Artifacts are long: the most that are read, and the most characters of each.
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
    # Whether the run goes on, so that its request is not stored yet.
    is_awaited: bool = False
    # How far the clause around the candidate's quote proves it; None without a quote.
    proof: ClauseProof | None = None
    # The request that was read; empty for an artifact.
    request: str = field(default="", compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Evidence:
    """The texts of an artifact, which all have to say a statement word for word."""

    where: str
    texts: tuple[str, ...]
    is_by_tool: bool = False

    def says(self, statement: str) -> bool:
        bodies = (text[:MAX_BODY_CHARS] for text in self.texts)
        own = (body if self.is_by_tool else own_words(body) for body in bodies)
        return bool(self.texts) and all(asserts_exactly(statement, body) for body in own)


def support_for(unit: "Unit", candidate: Candidate, *, now_ms: int) -> Support | None:
    """The text of the source run that supports a candidate or fails to; None without any text."""
    run_id = candidate.source.run_id
    if run_id is None or all(ref.run_id != run_id for ref in candidate.evidence_refs):
        return None
    failed: Support | None = None
    if candidate.origin is Origin.DAEMON and candidate.kind in SEMANTIC_KINDS:
        request = _request(unit, run_id, now_ms=now_ms)
        proof = prove(candidate.content, candidate.quote, request) if candidate.quote else None
        if is_proven(candidate.content, proof, request):
            return Support(run_id=run_id, where="request", proof=proof, request=request)
        is_awaited = not request and _goes_on(unit, run_id)
        if request or is_awaited:
            failed = Support(
                run_id=run_id,
                where="request",
                is_found=False,
                is_awaited=is_awaited,
                proof=proof if request else None,
                request=request,
            )
        # A model that made its quote up is not helped by a file that says the same.
        if proof is not None and proof.reason is ProofReason.QUOTE_NOT_FOUND and request:
            return failed
    # Tool results come last: the user's own words are better evidence.
    for it in sorted(_artifacts(unit, candidate, run_id), key=lambda it: it.is_by_tool):
        if it.says(candidate.content):
            return Support(run_id=run_id, where=it.where, is_by_tool=it.is_by_tool)
        if failed is None and it.texts and not it.is_by_tool:
            failed = Support(run_id=run_id, where=it.where, is_found=False)
    return failed


def is_proven(content: str, proof: ClauseProof | None, request: str) -> bool:
    """Whether the request proves a statement: by its quote, or without one by its own words."""
    if proof is None:
        return is_said_by_user(content, request)
    return proof.level is ProofLevel.VERIFIED


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


def _goes_on(unit: "Unit", run_id: str) -> bool:
    """Whether a run goes on and leaves a run memory when it ends."""
    try:
        run = unit.runs.get(run_id)
    except DamagedRecord:
        return False
    return run is not None and run.status not in TERMINAL and policy_in(unit).enabled


def _memory(unit: "Unit", run_id: str, *, session_id: str) -> RunMemory | None:
    """The run memory of a run, if it is readable and not doubtful."""
    try:
        record = unit.run_memories.get(run_id)
    except DamagedRecord:
        return None
    if record is None or doubt(record, session_id=session_id) is not None:
        return None
    return record.memory


def _artifacts(unit: "Unit", candidate: Candidate, run_id: str) -> Iterator[_Evidence]:
    """The artifacts of the source run that a candidate refers to."""
    named = dict.fromkeys(
        ref.artifact_id for ref in candidate.evidence_refs if ref.run_id == run_id
    )
    try:
        run = unit.runs.get(run_id)
    except DamagedRecord:
        return
    if run is None:
        return
    for artifact_id in [it for it in named if it is not None][:MAX_ARTIFACTS]:
        try:
            found = find_artifact(unit, run, artifact_id)
        except (DamagedRecord, Conflict, NotFound):
            continue
        where = f"artifact {artifact_id}"
        if isinstance(found, DebugRequest):
            # The last user message of a capture need not be what the user typed.
            yield _Evidence(where=where, texts=(found.last_user_text, run.input.text))
        elif found is not None:
            text = artifact_text(found)
            is_by_tool = isinstance(found, Artifact)
            texts = () if text is None else (text,)
            yield _Evidence(where=where, texts=texts, is_by_tool=is_by_tool)
