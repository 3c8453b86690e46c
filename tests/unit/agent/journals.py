"""Journal events as a test writes them down."""

from typing import Any

from tests.support.factories import make_event
from understudy.agent.history import message_data
from understudy.providers.base import ModelReply, ToolCall
from understudy.sessions.journal import EventKind, JournalEvent


def said(offset: int, text: str, **more: Any) -> JournalEvent:
    """Somebody said something."""
    data = {"items": [{"type": "text", "text": text}]}
    return make_event(EventKind.INPUT, offset, data=data, **more)


def answered(offset: int, text: str, *calls: ToolCall, step: int = 1, **more: Any) -> JournalEvent:
    """The model answered, with calls or without."""
    data = message_data(step, ModelReply(text=text, tool_calls=calls))
    return make_event(EventKind.MESSAGE, offset, data=data, **more)


def resulted(
    offset: int, call_id: str, content: str, *, step: int = 1, **more: Any
) -> JournalEvent:
    """A tool answered."""
    data = {"step": step, "call_id": call_id, "content": content}
    return make_event(EventKind.TOOL_RESULT, offset, data=data, **more)
