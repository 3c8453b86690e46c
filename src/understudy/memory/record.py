"""The record that a run leaves behind: compact, scrubbed, and the same in a file and in a row."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any, Final

from understudy.core.machine import Machine
from understudy.core.records import HIDDEN, Omitted
from understudy.runs.model import RunStatus


class SemanticCapture(StrEnum):
    """Whether something is still to be learned from a run."""

    PENDING = "pending"
    COMPLETED = "completed"
    SKIPPED = "skipped"


RECEIPT: Final = Machine(
    name="semantic capture",
    steps={
        SemanticCapture.PENDING: frozenset({SemanticCapture.COMPLETED}),
        SemanticCapture.COMPLETED: frozenset(),
        SemanticCapture.SKIPPED: frozenset(),
    },
    conflict_code="semantic_capture_conflict",
    domain="run_memories",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunMemory:
    """What one run did, in a few hundred characters."""

    run_id: str
    recorded_at_ms: int
    status: RunStatus
    summary: str
    request_preview: Omitted[str] = None
    outcome_preview: Omitted[str] = None
    artifact_ids: tuple[str, ...] = ()
    failure_markers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RunMemoryRecord:
    """A run memory with where it belongs and what is still to be done with it."""

    session_id: str
    scope_keys: tuple[str, ...]
    semantic_capture: SemanticCapture
    memory: RunMemory

    @property
    def run_id(self) -> str:
        """The run it was made of."""
        return self.memory.run_id


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEvidence:
    """The scrubbed request and outcome of a run, bounded: what learning reads and checks against."""

    run_id: Annotated[str, HIDDEN] = ""
    request: str
    outcome: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunMemoryDetail(RunMemoryRecord):
    """A record with the longer texts that learning reads, for who asks for them."""

    evidence: Omitted[RunEvidence] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pointer:
    """What the index knows of a record without reading it."""

    run_id: str
    session_id: str
    recorded_at_ms: int
    semantic_capture: SemanticCapture = SemanticCapture.SKIPPED


@dataclass(frozen=True, slots=True, kw_only=True)
class RunMemoryItem(Pointer):
    """A record in a list; without status and summary where the record cannot be read."""

    status: Omitted[RunStatus] = None
    summary: Omitted[str] = None


def pointer_to(record: RunMemoryRecord) -> Pointer:
    """How the index knows a record."""
    return Pointer(
        run_id=record.run_id,
        session_id=record.session_id,
        recorded_at_ms=record.memory.recorded_at_ms,
        semantic_capture=record.semantic_capture,
    )


def record_json(record: RunMemoryRecord) -> dict[str, Any]:
    """The record as it is kept; what is absent is left out."""
    memory = record.memory
    body: dict[str, Any] = {
        "run_id": memory.run_id,
        "recorded_at_ms": memory.recorded_at_ms,
        "status": str(memory.status),
        "request_preview": memory.request_preview,
        "outcome_preview": memory.outcome_preview,
        "artifact_ids": list(memory.artifact_ids),
        "failure_markers": list(memory.failure_markers),
        "summary": memory.summary,
    }
    return {
        "session_id": record.session_id,
        "scope_keys": list(record.scope_keys),
        "semantic_capture": str(record.semantic_capture),
        "memory": {key: value for key, value in body.items() if value is not None},
    }
