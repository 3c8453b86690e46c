"""Frames: parsed and validated before anything is done with them."""

import json
from collections.abc import Mapping
from typing import Any, Final

from pydantic import ValidationError

from understudy.core.errors import Invalid, UnderstudyError, coded_error
from understudy.core.showable import showable
from understudy.core.strict_json import check, load
from understudy.wire.base import JsonObject
from understudy.wire.websocket import MAX_ID_CHARS, FrameError, FrameId, RequestFrame
from understudy.ws.errors import wrong_values
from understudy.ws.limits import MAX_FRAME_BYTES

# Nothing here has presence or health to count yet; the protocol has a place for both.
STATE_VERSION: Final = {"presence": 0, "health": 0}


class BadFrame(Exception):
    """A frame that is no request; the id is None where it has none that could be answered."""

    def __init__(self, frame_id: FrameId, cause: UnderstudyError) -> None:
        super().__init__(cause.code)
        self.id = frame_id
        self.cause = cause


def request_of(text: str) -> RequestFrame:
    """The request in a frame, or `BadFrame`."""
    frame_id: FrameId = None
    try:
        value = load(text)
        frame_id = _id_of(value)
        check(value)
    except Invalid as problem:
        raise BadFrame(frame_id, problem) from None
    try:
        frame = RequestFrame.model_validate(value)
    except ValidationError as found:
        raise BadFrame(frame_id, wrong_values(found)) from None
    if frame_id is None:
        cause = coded_error("ws/invalid_id", pointer="/id", max_id_chars=MAX_ID_CHARS)
        raise BadFrame(None, cause)
    return frame


def _id_of(value: object) -> FrameId:
    """The id of a frame, whatever else is wrong with it; None for none that we would repeat."""
    match value:
        case {"id": bool()}:
            return None
        case {"id": int() as number} if _is_fine(number):
            return number
        case {"id": str() as text} if 0 < len(text) <= MAX_ID_CHARS and _is_fine(text):
            return text
        case _:
            return None


def _is_fine(value: int | str) -> bool:
    """Whether it can be sent back: a number that is not too large, or whole characters."""
    try:
        check(value)
    except Invalid:
        return False
    return True


def answer_frame(frame_id: FrameId, payload: JsonObject) -> str:
    """The answer as a frame; `LimitExceeded` when it is too large for one."""
    text = _encode({"type": "res", "id": frame_id, "ok": True, "payload": payload})
    if not fits(text):
        raise coded_error("ws/answer_too_large", limit_bytes=MAX_FRAME_BYTES)
    return text


def error_frame(frame_id: FrameId, error: FrameError) -> str:
    """Why it was not done."""
    return _encode(
        {"type": "res", "id": frame_id, "ok": False, "error": error.model_dump(mode="json")}
    )


def event_frame(name: str, payload: Mapping[str, object], seq: int) -> str:
    """Something that happened; `seq` counts the events of a connection."""
    return _encode(
        {
            "type": "event",
            "event": name,
            "payload": showable(dict(payload)),
            "seq": seq,
            "stateVersion": STATE_VERSION,
        }
    )


def fits(text: str) -> bool:
    """Whether a frame may hold this."""
    return len(text) <= MAX_FRAME_BYTES and len(text.encode()) <= MAX_FRAME_BYTES


def _encode(frame: Any) -> str:
    return json.dumps(frame, ensure_ascii=False, separators=(",", ":"))
