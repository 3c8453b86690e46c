"""The server side of Anthropic's messages API."""

import base64
import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from understudy.testing.answers import (
    Answer,
    PartKind,
    SeenPart,
    SeenRequest,
    Turn,
    call_id,
    pieces,
)

_FILES: Final[Mapping[str, PartKind]] = {"image": "image", "document": "file"}


def read_turns(body: Mapping[str, Any]) -> tuple[Turn, ...]:
    """The conversation of a request; tool results are inside user messages in this format."""
    turns = [Turn(role="system", text=_text(body["system"]))] if body.get("system") else []
    for message in body.get("messages", []):
        turns.extend(_message_turns(message))
    return tuple(turns)


def _message_turns(message: Mapping[str, Any]) -> Iterator[Turn]:
    content = message["content"]
    blocks = [] if isinstance(content, str) else content
    for block in blocks:
        if block["type"] == "tool_result":
            yield Turn(role="tool", text=_text(block.get("content") or ""))
    calls = sum(block["type"] == "tool_use" for block in blocks)
    text = _text(content)
    if text or calls or any(block["type"] in _FILES for block in blocks):
        parts = tuple(_parts(content))
        yield Turn(role=message["role"], text=text, calls=calls, parts=parts)


def _parts(content: str | list[Mapping[str, Any]]) -> Iterator[SeenPart]:
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    for block in content:
        if block["type"] == "text":
            yield SeenPart(kind="text", text=str(block["text"]))
        elif kind := _FILES.get(block["type"]):
            source: Mapping[str, str] = block["source"]
            data = base64.b64decode(source["data"])
            yield SeenPart(kind=kind, media_type=source["media_type"], data=data)


def _text(content: str | list[Mapping[str, Any]]) -> str:
    if isinstance(content, str):
        return content
    return "".join(str(block.get("text", "")) for block in content if block["type"] == "text")


def error_body(answer: Answer) -> dict[str, object]:
    """An error body in this format."""
    return {"type": "error", "error": {"type": "fake_error", "message": answer.error}}


def plain_body(answer: Answer, request: SeenRequest) -> dict[str, object]:
    """The whole answer as one JSON document."""
    content: list[dict[str, object]] = []
    if answer.text:
        content.append({"type": "text", "text": answer.text})
    for index, fake in enumerate(answer.calls):
        tool_use = _tool_use(answer, index, request)
        content.append(tool_use | {"input": fake.arguments})
    usage = {"input_tokens": answer.input_tokens, "output_tokens": answer.output_tokens}
    return _envelope(request) | {
        "content": content,
        "stop_reason": _stop_reason(answer),
        "usage": usage,
    }


def stream_events(answer: Answer, request: SeenRequest) -> Iterator[bytes]:
    """The answer as server-sent events."""
    usage = {"input_tokens": answer.input_tokens, "output_tokens": 1}
    start = _envelope(request) | {"content": [], "stop_reason": None, "usage": usage}
    yield _event("message_start", message=start)
    first_call = 0
    if answer.text:
        first_call = 1
        deltas = [{"type": "text_delta", "text": piece} for piece in pieces(answer)]
        yield from _block(0, {"type": "text", "text": ""}, deltas)
    for index, fake in enumerate(answer.calls):
        block = _tool_use(answer, index, request) | {"input": {}}
        text = fake.raw_arguments
        halves = (text[: len(text) // 2], text[len(text) // 2 :])
        deltas = [{"type": "input_json_delta", "partial_json": half} for half in halves]
        yield from _block(first_call + index, block, deltas)
    stop = {"stop_reason": _stop_reason(answer), "stop_sequence": None}
    yield _event("message_delta", delta=stop, usage={"output_tokens": answer.output_tokens})
    yield _event("message_stop")


def _block(
    index: int, block: Mapping[str, object], deltas: list[dict[str, str]]
) -> Iterator[bytes]:
    yield _event("content_block_start", index=index, content_block=block)
    for delta in deltas:
        yield _event("content_block_delta", index=index, delta=delta)
    yield _event("content_block_stop", index=index)


def _tool_use(answer: Answer, index: int, request: SeenRequest) -> dict[str, object]:
    fake = answer.calls[index]
    identifier = call_id(fake, index, len(request.turns))
    return {"type": "tool_use", "id": identifier, "name": fake.name}


def _envelope(request: SeenRequest) -> dict[str, object]:
    return {
        "id": "msg_fake",
        "type": "message",
        "role": "assistant",
        "model": request.model,
        "stop_sequence": None,
    }


def _stop_reason(answer: Answer) -> str:
    return answer.finish_reason or ("tool_use" if answer.calls else "end_turn")


def _event(kind: str, **fields: object) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind} | fields)}\n\n".encode()
