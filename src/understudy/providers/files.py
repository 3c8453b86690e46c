"""Files in a conversation: data URLs, and requests without optional files."""

import base64
from dataclasses import replace

from understudy.providers.base import FilePart, Message, ModelRequest, Part, TextPart, UserMessage


def data_url(file: FilePart) -> str:
    """A file as a data URL."""
    return f"data:{file.media_type};base64,{base64.b64encode(file.data).decode()}"


def left_out(file: FilePart, reason: str) -> str:
    """The text that replaces a file in a conversation."""
    return f"[file {file.file_name!r} ({file.media_type}) is not shown: {reason}]"


def has_files(request: ModelRequest) -> bool:
    """Whether a request carries files."""
    return any(isinstance(message, UserMessage) and message.parts for message in request.messages)


def without_optional_files(request: ModelRequest) -> ModelRequest | None:
    """The request with its optional files replaced by notes; None when it has none."""
    messages = tuple(_without(message) for message in request.messages)
    return None if messages == request.messages else replace(request, messages=messages)


def _without(message: Message) -> Message:
    if not isinstance(message, UserMessage) or not message.parts:
        return message
    return UserMessage.of([_noted(part) for part in message.parts])


def _noted(part: Part) -> Part:
    if isinstance(part, FilePart) and part.optional:
        return TextPart(text=left_out(part, "the model refused the conversation with it"))
    return part
