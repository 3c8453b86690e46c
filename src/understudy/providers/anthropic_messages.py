"""Conversion of messages to pydantic-ai's, and of its replies to ours."""

import json
from collections.abc import Mapping
from typing import Final, cast

from pydantic_ai import messages as theirs
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from understudy.providers.base import (
    AssistantMessage,
    ModelRequest,
    Part,
    TextPart,
    ToolMessage,
    Usage,
    UserMessage,
)
from understudy.providers.files import left_out
from understudy.providers.replies import CallParts, ReplyParts, token_count, valid_arguments

_CARRIED: Final = frozenset(
    {"image/png", "image/jpeg", "image/gif", "image/webp", "application/pdf"}
)
_SAME_NAME: Final = ("temperature", "top_p", "max_tokens", "seed")


def to_messages(request: ModelRequest) -> list[theirs.ModelMessage]:
    """The conversation; consecutive messages of our side become one request."""
    history: list[theirs.ModelMessage] = []
    waiting: list[theirs.ModelRequestPart] = []
    for message in request.messages:
        if not isinstance(message, AssistantMessage):
            waiting.append(_request_part(message))
            continue
        if message.is_empty:
            continue
        if waiting:
            history.append(theirs.ModelRequest(parts=waiting))
            waiting = []
        history.append(_response(message))
    history.append(theirs.ModelRequest(parts=waiting, instructions=request.system or None))
    return history


def _request_part(message: UserMessage | ToolMessage) -> theirs.ModelRequestPart:
    if isinstance(message, UserMessage):
        content = [_content(part) for part in message.parts]
        return theirs.UserPromptPart(content=content or message.text)
    return theirs.ToolReturnPart(
        tool_name=message.name, content=message.content, tool_call_id=message.call_id
    )


def _content(part: Part) -> theirs.UserContent:
    if isinstance(part, TextPart):
        return part.text
    if part.media_type not in _CARRIED:
        return left_out(part, "this model takes images and PDFs only")
    return theirs.BinaryContent(data=part.data, media_type=part.media_type)


def _response(message: AssistantMessage) -> theirs.ModelResponse:
    parts: list[theirs.ModelResponsePart] = []
    if message.text:
        parts.append(theirs.TextPart(content=message.text))
    for call in message.tool_calls:
        args = valid_arguments(call)
        part = theirs.ToolCallPart(tool_name=call.name, args=args, tool_call_id=call.call_id)
        parts.append(part)
    return theirs.ModelResponse(parts=parts)


def to_parameters(request: ModelRequest) -> ModelRequestParameters:
    """The tools of a request."""
    tools = [
        ToolDefinition(
            name=tool.name,
            description=tool.description,
            parameters_json_schema=dict(tool.parameters),
            strict=False,
        )
        for tool in request.tools
    ]
    return ModelRequestParameters(function_tools=tools, allow_text_output=True)


def to_settings(generation: Mapping[str, object]) -> ModelSettings:
    """The generation settings under pydantic-ai's names."""
    # The values come from the caller, validated where they entered.
    given = {name: generation[name] for name in _SAME_NAME if generation.get(name) is not None}
    settings = cast("ModelSettings", given)
    if isinstance(stop := generation.get("stop"), str):
        settings["stop_sequences"] = [stop]
    elif isinstance(stop, list | tuple):
        settings["stop_sequences"] = [str(word) for word in stop]
    return settings


def add_response(parts: ReplyParts, response: theirs.ModelResponse) -> None:
    """Add everything but the text of a finished response; the text was streamed before."""
    details = response.provider_details or {}
    parts.model = str(response.model_name or "")
    parts.finish_reason = str(details.get("finish_reason") or response.finish_reason or "")
    parts.usage = Usage(
        input_tokens=token_count(response.usage.input_tokens),
        output_tokens=token_count(response.usage.output_tokens),
        cache_read_tokens=token_count(response.usage.cache_read_tokens),
    )
    parts.calls = [
        CallParts(str(call.tool_call_id), str(call.tool_name), [_raw(call.args)])
        for call in response.tool_calls
    ]


def _raw(args: str | Mapping[str, object] | None) -> str:
    return args if isinstance(args, str) else json.dumps(args or {})
