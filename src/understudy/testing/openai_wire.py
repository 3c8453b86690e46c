"""The server side of OpenAI's chat-completions API."""

import base64
import json
from collections.abc import Iterator, Mapping
from typing import Any

from understudy.testing.answers import (
    Answer,
    Role,
    SeenPart,
    SeenRequest,
    Turn,
    call_id,
    pieces,
)


def read_turns(body: Mapping[str, Any]) -> tuple[Turn, ...]:
    """The conversation of a request."""
    return tuple(_turn(message) for message in body.get("messages", []))


def _turn(message: Mapping[str, Any]) -> Turn:
    content = message.get("content") or ""
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    parts = tuple(_part(block) for block in blocks)
    role: Role = message["role"]
    return Turn(
        role=role,
        text="".join(part.text for part in parts),
        calls=len(message.get("tool_calls") or ()),
        parts=parts,
    )


def _part(part: Mapping[str, Any]) -> SeenPart:
    match part["type"]:
        case "image_url":
            media_type, data = _read_url(part["image_url"]["url"])
            return SeenPart(kind="image", media_type=media_type, data=data)
        case "file":
            file = part["file"]
            media_type, data = _read_url(file["file_data"])
            return SeenPart(
                kind="file", media_type=media_type, data=data, file_name=file["filename"]
            )
        case _:
            return SeenPart(kind="text", text=str(part.get("text", "")))


def _read_url(url: str) -> tuple[str, bytes]:
    head, _, encoded = url.partition(";base64,")
    return head.removeprefix("data:"), base64.b64decode(encoded)


def error_body(answer: Answer) -> dict[str, object]:
    """An error body in this format."""
    return {"error": {"message": answer.error, "type": "fake_error", "code": None}}


def plain_body(answer: Answer, request: SeenRequest) -> dict[str, object]:
    """The whole answer as one JSON document."""
    message: dict[str, object] = {"role": "assistant", "content": answer.text or None}
    if answer.calls:
        message["tool_calls"] = _tool_calls(answer, request)
    choice = {"index": 0, "message": message, "finish_reason": _finish_reason(answer)}
    return _envelope("chat.completion", request) | {"choices": [choice], "usage": _usage(answer)}


def stream_events(answer: Answer, request: SeenRequest) -> Iterator[bytes]:
    """The answer as server-sent events."""
    yield _chunk(request, {"role": "assistant", "content": ""})
    for piece in pieces(answer):
        yield _chunk(request, {"content": piece})
    for index, call in enumerate(_tool_calls(answer, request)):
        text = call["function"]["arguments"]
        head = call | {"index": index, "function": call["function"] | {"arguments": ""}}
        yield _chunk(request, {"tool_calls": [head]})
        for part in (text[: len(text) // 2], text[len(text) // 2 :]):
            tail = {"index": index, "function": {"arguments": part}}
            yield _chunk(request, {"tool_calls": [tail]})
    yield _chunk(request, {}, finish_reason=_finish_reason(answer))
    last = _envelope("chat.completion.chunk", request) | {"choices": [], "usage": _usage(answer)}
    yield _event(last)
    yield b"data: [DONE]\n\n"


def _tool_calls(answer: Answer, request: SeenRequest) -> list[dict[str, Any]]:
    calls = []
    for index, fake in enumerate(answer.calls):
        function = {"name": fake.name, "arguments": fake.raw_arguments}
        call: dict[str, Any] = {"type": "function", "function": function}
        if identifier := call_id(fake, index, len(request.turns)):
            call["id"] = identifier
        calls.append(call)
    return calls


def _chunk(
    request: SeenRequest, delta: Mapping[str, object], *, finish_reason: str | None = None
) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
    return _event(_envelope("chat.completion.chunk", request) | {"choices": [choice]})


def _envelope(kind: str, request: SeenRequest) -> dict[str, object]:
    return {"id": "chatcmpl-fake", "object": kind, "created": 1, "model": request.model}


def _usage(answer: Answer) -> dict[str, int]:
    return {
        "prompt_tokens": answer.input_tokens,
        "completion_tokens": answer.output_tokens,
        "total_tokens": answer.input_tokens + answer.output_tokens,
    }


def _finish_reason(answer: Answer) -> str:
    return answer.finish_reason or ("tool_calls" if answer.calls else "stop")


def _event(document: Mapping[str, object]) -> bytes:
    return b"data: " + json.dumps(document).encode() + b"\n\n"
