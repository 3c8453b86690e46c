"""The record of an ended run: its fields, its JSON and the validation of stored JSON."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any, Final

from understudy.core.clock import DAY_MS
from understudy.core.machine import Machine
from understudy.core.records import HIDDEN, Omitted
from understudy.core.text import ELLIPSIS, PREVIEW_CHARS
from understudy.runs.lifecycle import TERMINAL
from understudy.runs.model import RunStatus
from understudy.sessions.learning_scopes import session_scope

SUMMARY_CHARS: Final = 480
# Room for the ellipsis after a cut.
MAX_SUMMARY_CHARS: Final = SUMMARY_CHARS + len(ELLIPSIS)
MAX_PREVIEW_CHARS: Final = PREVIEW_CHARS + len(ELLIPSIS)
MAX_FAILURE_MARKERS: Final = 8
MAX_MARKER_CHARS: Final = 200
MAX_ARTIFACT_IDS: Final = 1000
MAX_ID_CHARS: Final = 256
MAX_SCOPE_KEYS: Final = 256
MAX_SCOPE_CHARS: Final = 512
# The largest clock difference between writer and reader.
AHEAD_MS: Final = DAY_MS


class SemanticCapture(StrEnum):
    """The capture receipt: whether a run is still to be captured."""

    PENDING = "pending"
    COMPLETED = "completed"
    SKIPPED = "skipped"


RECEIPT: Final = Machine(
    name="semantic capture",
    steps={
        SemanticCapture.PENDING: frozenset({SemanticCapture.COMPLETED, SemanticCapture.SKIPPED}),
        SemanticCapture.COMPLETED: frozenset(),
        SemanticCapture.SKIPPED: frozenset(),
    },
    conflict_code="semantic_capture_conflict",
    domain="run_memories",
)


class CaptureState(StrEnum):
    """The state of a run's capture."""

    # Capture was off when the run ended.
    OFF = "off"
    PENDING = "pending"
    COMPLETED = "completed"
    # The run cannot be captured.
    SKIPPED = "skipped"
    # It failed, and is tried again.
    FAILED = "failed"
    GIVEN_UP = "given_up"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCapture:
    """The capture of a run: how many statements were found, and why not all became candidates."""

    state: CaptureState
    found: int = 0
    attempts: int = 0
    # Codes, separated by commas; the code of the last error where capture failed.
    reason: Omitted[str] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunMemory:
    """The summary of one run, in a few hundred characters."""

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
    """A run memory with its session, its scopes and its capture receipt."""

    session_id: str
    scope_keys: tuple[str, ...]
    semantic_capture: SemanticCapture
    memory: RunMemory

    @property
    def run_id(self) -> str:
        """The id of the run."""
        return self.memory.run_id


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEvidence:
    """The scrubbed and bounded request and outcome of a run, for capture and verification."""

    run_id: Annotated[str, HIDDEN] = ""
    request: str
    outcome: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunMemoryDetail(RunMemoryRecord):
    """A record with the capture of its run, and with its evidence if that was asked for."""

    capture: RunCapture
    evidence: Omitted[RunEvidence] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pointer:
    """The entry of a record in the index."""

    run_id: str
    session_id: str
    recorded_at_ms: int
    semantic_capture: SemanticCapture = SemanticCapture.SKIPPED


@dataclass(frozen=True, slots=True, kw_only=True)
class RunMemoryItem(Pointer):
    """A record in a list; without status and summary where the record is damaged."""

    status: Omitted[RunStatus] = None
    summary: Omitted[str] = None


def pointer_to(record: RunMemoryRecord) -> Pointer:
    """The index entry of a record."""
    return Pointer(
        run_id=record.run_id,
        session_id=record.session_id,
        recorded_at_ms=record.memory.recorded_at_ms,
        semantic_capture=record.semantic_capture,
    )


def record_json(record: RunMemoryRecord) -> dict[str, Any]:
    """The stored JSON of a record; None fields are left out."""
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


def read_record(stored: Any) -> RunMemoryRecord:
    """The record in stored JSON; `ValueError` if it is invalid."""
    body = _object(stored)
    session_id = _text(body.get("session_id"), MAX_ID_CHARS)
    return RunMemoryRecord(
        session_id=session_id,
        scope_keys=_scope_keys(body.get("scope_keys"), session_id),
        semantic_capture=SemanticCapture(_text(body.get("semantic_capture"), MAX_ID_CHARS)),
        memory=_memory(_object(body.get("memory"))),
    )


def _memory(memory: Mapping[str, Any]) -> RunMemory:
    return RunMemory(
        run_id=_text(memory.get("run_id"), MAX_ID_CHARS),
        recorded_at_ms=_whole(memory.get("recorded_at_ms")),
        status=_ending(memory.get("status")),
        summary=_text(memory.get("summary"), MAX_SUMMARY_CHARS),
        request_preview=_preview(memory.get("request_preview")),
        outcome_preview=_preview(memory.get("outcome_preview")),
        artifact_ids=_texts(memory.get("artifact_ids", []), MAX_ARTIFACT_IDS, MAX_ID_CHARS),
        failure_markers=_texts(
            memory.get("failure_markers", []), MAX_FAILURE_MARKERS, MAX_MARKER_CHARS
        ),
    )


def _scope_keys(value: Any, session_id: str) -> tuple[str, ...]:
    """Valid scope keys: no session scope but its own."""
    keys, own = _texts(value, MAX_SCOPE_KEYS, MAX_SCOPE_CHARS), session_scope(session_id).key
    if any(key.startswith(session_scope("").key) and key != own for key in keys):
        raise ValueError("in the scope of another session")
    return keys


def _object(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise ValueError("not an object")  # noqa: TRY004 - one error for whatever is wrong
    return value


def _text(value: Any, limit: int) -> str:
    if not isinstance(value, str) or len(value) > limit or "\0" in value:
        raise ValueError("not a text, or too long")
    # Lone surrogates cannot be stored; encoding raises a `ValueError`.
    value.encode()
    return value


def _preview(value: Any) -> str | None:
    return None if value is None else _text(value, MAX_PREVIEW_CHARS)


def _texts(value: Any, most: int, limit: int) -> tuple[str, ...]:
    if not isinstance(value, list) or len(value) > most:
        raise ValueError("not a list, or too long")
    return tuple(_text(item, limit) for item in value)


def _ending(value: Any) -> RunStatus:
    status = RunStatus(value)
    if status not in TERMINAL:
        raise ValueError("the run has not ended")
    return status


def _whole(value: Any) -> int:
    if type(value) is not int or not 0 <= value < 2**53:
        raise ValueError("not a time")
    return value


def doubt(record: RunMemoryRecord, *, session_id: str) -> str | None:
    """Why a record cannot be trusted for a session; None if it can."""
    return None if record.session_id == session_id else "the record names another session"


def doubt_at_start(record: RunMemoryRecord, *, session_id: str, now_ms: int) -> str | None:
    """Why a record is not sound at startup: also a time in the future, which would never expire.

    Readers do not check this, since a clock that is set back must not lose records.
    """
    if record.memory.recorded_at_ms > now_ms + AHEAD_MS:
        return "the record is of a time to come"
    return doubt(record, session_id=session_id)
