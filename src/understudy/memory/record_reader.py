"""Reading a record that was kept: others may have written there, so only what is made is taken."""

from collections.abc import Mapping
from typing import Any

from understudy.memory.bounds import (
    MAX_ARTIFACT_IDS,
    MAX_FAILURE_MARKERS,
    MAX_ID_CHARS,
    MAX_MARKER_CHARS,
    MAX_PREVIEW_CHARS,
    MAX_SCOPE_CHARS,
    MAX_SCOPE_KEYS,
    MAX_SUMMARY_CHARS,
)
from understudy.memory.record import RunMemory, RunMemoryRecord, SemanticCapture
from understudy.runs.lifecycle import TERMINAL
from understudy.runs.model import RunStatus
from understudy.sessions.learning_scopes import session_scope


def read_record(stored: Any) -> RunMemoryRecord:
    """The record that was kept; `ValueError` when it is none that a run leaves behind."""
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
    """Where a record can be found: through no session but its own."""
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
    # No database takes halves of pairs; the error is a `ValueError` too.
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
