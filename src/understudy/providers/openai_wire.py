"""OpenAI's chat-completions format: the request body, and the answer in chunks or whole."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, assert_never

from understudy.providers.base import (
    AssistantMessage,
    Message,
    ModelRequest,
    Part,
    TextPart,
    ToolCall,
    ToolMessage,
    Usage,
    UserMessage,
)
from understudy.providers.files import data_url
from understudy.providers.replies import CallParts, ReplyParts, token_count, valid_arguments

_PASSED_ON: Final = ("temperature", "top_p", "seed", "stop")


def request_body(
    request: ModelRequest, *, max_tokens_field: str, with_usage: bool, with_schema: bool
) -> dict[str, object]:
    """The request body."""
    system = [{"role": "system", "content": request.system}] if request.system else []
    said = [_message(message) for message in request.messages if not _is_empty(message)]
    body: dict[str, object] = {
        "model": request.model,
        "messages": [*system, *said],
        "stream": True,
    }
    if with_usage:
        body["stream_options"] = {"include_usage": True}
    if request.tools:
        body["tools"] = [
            {
                "type": "function",
                "function": {
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": tool.parameters,
                },
            }
            for tool in request.tools
        ]
    if with_schema and request.answer_schema is not None:
        body["response_format"] = {
            "type": "json_schema",
            "json_schema": {"name": "answer", "schema": request.answer_schema},
        }
    given = {name: value for name, value in request.generation.items() if value is not None}
    body |= {name: given[name] for name in _PASSED_ON if name in given}
    if "max_tokens" in given:
        body[max_tokens_field] = given["max_tokens"]
    return body


def _is_empty(message: Message) -> bool:
    return isinstance(message, AssistantMessage) and message.is_empty


def _message(message: Message) -> dict[str, object]:
    match message:
        case UserMessage():
            content = [_part(part) for part in message.parts] or message.text
            return {"role": "user", "content": content}
        case AssistantMessage():
            said: dict[str, object] = {"role": "assistant", "content": message.text}
            if message.tool_calls:
                said["tool_calls"] = [_call(call) for call in message.tool_calls]
            return said
        case ToolMessage():
            return {"role": "tool", "tool_call_id": message.call_id, "content": message.content}
        case _:
            assert_never(message)


def _part(part: Part) -> dict[str, object]:
    if isinstance(part, TextPart):
        return {"type": "text", "text": part.text}
    if part.media_type.startswith("image/"):
        return {"type": "image_url", "image_url": {"url": data_url(part)}}
    return {"type": "file", "file": {"filename": part.file_name, "file_data": data_url(part)}}


def _call(call: ToolCall) -> dict[str, object]:
    function = {"name": call.name, "arguments": valid_arguments(call)}
    return {"id": call.call_id, "type": "function", "function": function}


def add_document(parts: ReplyParts, document: Mapping[str, Any]) -> str:
    """Add everything but the text of a chunk or a whole answer, and return its text.

    Raises `LookupError`, `TypeError` or `AttributeError` for an invalid document.
    """
    parts.model = str(document.get("model") or parts.model)
    if usage := _mapping(document.get("usage")):
        parts.usage = _usage(usage)
    said = ""
    for choice in document.get("choices") or ():
        parts.finish_reason = str(choice.get("finish_reason") or parts.finish_reason)
        message = choice.get("delta") or choice.get("message") or {}
        said += _text(message.get("content")) or message.get("refusal") or ""
        _add_calls(parts.calls, message.get("tool_calls") or ())
    return said


def _text(content: str | Sequence[Mapping[str, Any]] | None) -> str:
    if content is None or isinstance(content, str):
        return content or ""
    return "".join(part["text"] for part in content if part.get("type") == "text")


def _add_calls(calls: list[CallParts], fragments: Sequence[Mapping[str, Any]]) -> None:
    for position, fragment in enumerate(fragments):
        call = _target(calls, fragment, position)
        function = fragment.get("function") or {}
        call.call_id = str(fragment.get("id") or call.call_id)
        call.name = str(function.get("name") or call.name)
        arguments = function.get("arguments")
        if arguments:
            # Some servers send an object instead of its JSON text.
            text = arguments if isinstance(arguments, str) else json.dumps(arguments)
            call.arguments.append(text)


def _target(calls: list[CallParts], fragment: Mapping[str, Any], position: int) -> CallParts:
    """The call that a fragment belongs to, whether or not the server numbers its calls."""
    index: int = fragment.get("index", position)
    call_id = fragment.get("id")
    starts = bool((fragment.get("function") or {}).get("name"))
    # A new id under a used index is a new call: several servers number every call 0.
    if index < len(calls) and not (starts and call_id and call_id != calls[index].call_id):
        return calls[index]
    if starts or not calls:
        calls.append(CallParts())
    return calls[-1]


def _usage(usage: Mapping[str, Any]) -> Usage:
    details = _mapping(usage.get("prompt_tokens_details"))
    return Usage(
        input_tokens=token_count(usage.get("prompt_tokens")),
        output_tokens=token_count(usage.get("completion_tokens")),
        cache_read_tokens=token_count(details.get("cached_tokens")),
    )


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
