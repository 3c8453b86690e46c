"""What spans and events of a foreign agent say, as far as a turn is made of it.

Names are those of the GenAI semantic conventions of OpenTelemetry (up to 1.36 and after), of
OpenInference, and of the events of Claude Code and Codex. Everything else is left unread.
"""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final, NamedTuple

from understudy.core.showable import showable
from understudy.foreign.hooks import MAX_NAME_CHARS, MAX_RESULT_CHARS, MAX_TEXT_CHARS
from understudy.foreign.messages import (
    ASSISTANT,
    TOOL,
    USER,
    Attributes,
    TelemetryMessage,
    exchange,
    kept_message,
    messages_in,
    parsed,
    plain,
    unflattened,
)
from understudy.foreign.record import MAX_CALLS

MAX_TOKENS: Final = 2**53
# What stands for the answer of a tool that telemetry does not carry: it was read all the same.
UNTOLD: Final = "(what came back was not reported)"
REDACTED: Final = "<REDACTED>"

AGENT, CHAIN, MODEL, EVENT, ROOT = "agent", "chain", "model", "event", "root"
_OPERATIONS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("invoke_agent", "invoke_workflow"), AGENT),
    **dict.fromkeys(("chat", "text_completion", "generate_content"), MODEL),
    **dict.fromkeys(("execute_tool", "retrieval", "search_memory", "create_memory"), TOOL),
    **dict.fromkeys(("update_memory", "upsert_memory", "delete_memory"), TOOL),
}
_KINDS: Final[Mapping[str, str]] = {
    "AGENT": AGENT,
    "CHAIN": CHAIN,
    "LLM": MODEL,
    "TOOL": TOOL,
    "RETRIEVER": TOOL,
}
_CONVERSATION: Final = ("gen_ai.conversation.id", "session.id", "conversation.id", "thread_id")
_MODEL: Final = ("gen_ai.response.model", "gen_ai.request.model", "llm.model_name", "model")
_INPUT_TOKENS: Final = (
    "gen_ai.usage.input_tokens",
    "gen_ai.usage.prompt_tokens",
    "llm.token_count.prompt",
    "input_tokens",
    "input_token_count",
)
_OUTPUT_TOKENS: Final = (
    "gen_ai.usage.output_tokens",
    "gen_ai.usage.completion_tokens",
    "llm.token_count.completion",
    "output_tokens",
    "output_token_count",
)
_GIVEN: Final = ("gen_ai.input.messages", "gen_ai.prompt")
_GIVEN_FLAT: Final = ("llm.input_messages.", "gen_ai.prompt.", "llm.prompts.")
_SAID: Final = ("gen_ai.output.messages", "gen_ai.completion")
_SAID_FLAT: Final = ("llm.output_messages.", "gen_ai.completion.")
_TOOL_NAME: Final = ("gen_ai.tool.name", "tool.name", "tool_call.function.name")
_TOOL_ID: Final = ("gen_ai.tool.call.id", "tool_call.id", "tool.id")
_ARGUMENTS: Final = (
    "gen_ai.tool.call.arguments",
    "tool_arguments",
    "tool_call.function.arguments",
    "gen_ai.memory.query.text",
    "gen_ai.retrieval.query.text",
    "input.value",
)
_RESULTS: Final = (
    "gen_ai.tool.call.result",
    "tool_response",
    "gen_ai.memory.records",
    "gen_ai.retrieval.documents",
    "output.value",
)
# Messages as events of a span or as log records, up to 1.36.
_MESSAGE_EVENT: Final = re.compile(r"gen_ai\.(system|user|assistant|tool|choice)(\.message)?")
_DETAILS: Final = frozenset(
    {
        "gen_ai.client.inference.operation.details",
        "gen_ai.content.prompt",
        "gen_ai.content.completion",
    }
)
_CODING_EVENT: Final = re.compile(
    r"(?:(claude_code|codex)\.)?"
    r"(user_prompt|assistant_response|tool_result|tool_decision|api_request|api_error|sse_event)"
)
# An agent that has just heard its model, and calls no tool, has come to the end of its turn.
_ENDS: Final = frozenset({"assistant_response", "api_request", "sse_event"})
_CODING_SCOPES: Final = ("com.anthropic.claude_code", "codex")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reported:
    """A span, or a log record, as it came."""

    is_span: bool = False
    trace_id: str
    # The id of the span; for a log record that of the span that it belongs to.
    span_id: str
    parent_id: str = ""
    name: str = ""
    scope: str = ""
    service: str = ""
    began_ns: int = 0
    ended_ns: int = 0
    error: str | None = None
    attributes: Attributes = field(default_factory=dict)
    # Events of a span by name and attributes; the body of a log record.
    events: Sequence[tuple[str, Attributes]] = ()
    body: Any = None


class Told(NamedTuple):
    """What is kept of a signal until its trace is a turn."""

    trace: str
    told_id: str
    ended_ns: int
    # Whether nothing is expected after it.
    closes: bool
    size: int
    body: dict[str, Any]


def of_span(span: Reported) -> Told | None:
    """What a span says; None for one that is of no concern."""
    is_root = not span.parent_id
    kind = _kind(span.attributes)
    if kind is None and not is_root:
        return None
    body = {**_base(span, kind or ROOT), "id": span.span_id, "parent": span.parent_id}
    match kind:
        case "tool":
            body["calls"] = [_tool_call(span)]
        case "agent" | "chain" | "model":
            body |= _exchange_of(span, kind)
    return _told(span, span.trace_id, span.span_id, is_root, body)


def of_log(log: Reported) -> Told | None:
    """What a log record says; None for one that is of no concern."""
    held = log.body if isinstance(log.body, Mapping) else {}
    attributes = {**held, **log.attributes}
    names = (log.name, attributes.get("event.name"), log.body)
    name = next((each for each in names if isinstance(each, str) and each), "")
    told_id = hashlib.sha256(
        repr(
            (log.trace_id, log.span_id, name, log.began_ns, sorted(attributes), attributes)
        ).encode(errors="replace")
    ).hexdigest()
    if (found := _MESSAGE_EVENT.fullmatch(name)) or name in _DETAILS:
        if not (log.trace_id and log.span_id):
            return None
        body = _base(log, EVENT) | {"of": log.span_id}
        body |= _message_event(found[1], attributes) if found else _exchange_of(log, MODEL)
        return _told(log, log.trace_id, told_id, False, body)
    coding = _CODING_EVENT.fullmatch(name)
    conversation = _text(attributes, _CONVERSATION)
    if coding is None or not conversation:
        return None
    if coding[1] is None and not log.scope.startswith(_CODING_SCOPES):
        return None
    client = "codex" if "codex" in (coding[1], log.scope.partition(".")[0]) else "claude-code"
    prompt = _text(attributes, ("prompt.id",))
    body = _base(log, EVENT) | {"source": client, "conversation": conversation, "prompt": prompt}
    body |= _coding_event(coding[2], attributes)
    order = attributes.get("event.sequence")
    body["order"] = order if isinstance(order, int) else 0
    told = _text(attributes, ("message.uuid",)) or told_id
    trace = hashlib.sha256(f"{conversation}\0{prompt}".encode(errors="replace")).hexdigest()[:32]
    return _told(log, f"{client}:{trace}", told, coding[2] in _ENDS, body)


def _told(signal: Reported, trace: str, told_id: str, closes: bool, body: dict[str, Any]) -> Told:
    kept = _bounded(body)
    named: str = _without_nul(told_id[:MAX_NAME_CHARS])
    return Told(trace, named, signal.ended_ns, closes, len(repr(kept)), kept)


def _base(signal: Reported, kind: str) -> dict[str, Any]:
    attributes = signal.attributes
    return {
        "kind": kind,
        "began": signal.began_ns,
        "ended": signal.ended_ns,
        "source": _source(signal.service),
        "conversation": _text(attributes, _CONVERSATION),
        "model": _text(attributes, _MODEL)[:MAX_NAME_CHARS],
        "tokens": [_count(attributes, _INPUT_TOKENS), _count(attributes, _OUTPUT_TOKENS)],
        "error": signal.error,
    }


def _kind(attributes: Attributes) -> str | None:
    """What a span is; None for one without a part in the conversation."""
    operation = attributes.get("gen_ai.operation.name")
    if isinstance(operation, str):
        return _OPERATIONS.get(operation)
    found = attributes.get("openinference.span.kind")
    if isinstance(found, str):
        return _KINDS.get(found.upper())
    is_old = "gen_ai.system" in attributes or "gen_ai.request.model" in attributes
    return MODEL if is_old else None


def _tool_call(span: Reported) -> dict[str, Any]:
    documents = unflattened(span.attributes, "retrieval.documents.")
    return {
        "id": _text(span.attributes, _TOOL_ID),
        "name": _text(span.attributes, _TOOL_NAME) or span.name or TOOL,
        "arguments": parsed(_first(span.attributes, _ARGUMENTS)),
        "result": plain(_first(span.attributes, _RESULTS) or documents or span.error) or UNTOLD,
        "failed": span.error is not None,
    }


def _exchange_of(span: Reported, kind: str) -> dict[str, Any]:
    """What was asked and said in a call of a model, or of an agent as a whole."""
    merged = dict(span.attributes)
    given, said = list[TelemetryMessage](), list[TelemetryMessage]()
    for name, attributes in span.events:
        if found := _MESSAGE_EVENT.fullmatch(name):
            message = _message_event(found[1], attributes)
            (said if message["answers"] else given).append(kept_message(message))
        elif name in _DETAILS:
            merged |= attributes
    given = _held(merged, _GIVEN, _GIVEN_FLAT, USER) or given
    said = _held(merged, _SAID, _SAID_FLAT, ASSISTANT) or said
    if kind == CHAIN or not given:
        given = given or messages_in(merged.get("input.value"), USER)
    final = merged.get("output.value", merged.get("final_result"))
    if not said and final is not None:
        said = messages_in(final, ASSISTANT) or [
            TelemetryMessage(role=ASSISTANT, text=plain(final))
        ]
    return exchange(given, said)


def _held(
    attributes: Attributes, names: Sequence[str], flat: Sequence[str], role: str
) -> list[TelemetryMessage]:
    whole = (messages_in(attributes.get(name), role) for name in names)
    parts = (messages_in(unflattened(attributes, prefix), role) for prefix in flat)
    return next(filter(None, (*whole, *parts)), [])


def _message_event(role: str, attributes: Attributes) -> dict[str, Any]:
    is_answer = role == "choice"
    named = {"role": ASSISTANT if is_answer else role, **attributes}
    (message,) = messages_in([named], role) or [TelemetryMessage(role=role)]
    return asdict(message) | {"answers": is_answer}


def _coding_event(name: str, attributes: Attributes) -> dict[str, Any]:
    if name == "user_prompt":
        return {"asked": _shown(attributes, "prompt")}
    if name == "assistant_response":
        is_aside = "agent" in plain(attributes.get("query_source"))
        return {} if is_aside else {"said": _shown(attributes, "response")}
    if name == "tool_result":
        result = _first(attributes, ("output", "error", "tool_output"))
        call = {
            "id": _text(attributes, ("tool_use_id", "call_id")),
            "name": _text(attributes, ("tool_name",)) or TOOL,
            "arguments": parsed(_first(attributes, ("tool_input", "tool_parameters", "arguments"))),
            "result": plain(result) or UNTOLD,
            "failed": plain(attributes.get("success", "true")).lower() == "false",
        }
        return {"calls": [call]}
    return {}


def _shown(attributes: Attributes, name: str) -> str:
    text = plain(attributes.get(name))
    return "" if text == REDACTED else text


def _first(attributes: Attributes, names: Sequence[str]) -> Any:
    return next((attributes[name] for name in names if attributes.get(name)), None)


def _text(attributes: Attributes, names: Sequence[str]) -> str:
    values = (attributes.get(name) for name in names)
    return next((each for each in values if isinstance(each, str) and each), "")


def _count(attributes: Attributes, names: Sequence[str]) -> int:
    for name in names:
        value = attributes.get(name)
        if isinstance(value, str) and value.isdecimal() and len(value) < len(str(MAX_TOKENS)):
            value = int(value)
        if isinstance(value, int) and 0 <= value <= MAX_TOKENS:
            return value
    return 0


def _source(service: str) -> str:
    """The client that a service is: never the name of an agent that we run."""
    slug = re.sub(r"[^a-z0-9_-]+", "-", service.lower()).strip("-")
    return f"otlp.{slug}"[:40] if slug and not slug.startswith("unknown_service") else "otlp"


def _bounded(body: dict[str, Any]) -> dict[str, Any]:
    """What is kept of a signal: valid text, and of each part as much as anybody would read."""
    for name in ("asked", "said", "text"):
        if name in body:
            body[name] = body[name][:MAX_TEXT_CHARS]
    body["beside"] = [each[:MAX_TEXT_CHARS] for each in body.get("beside", ())][-1:]
    for call in (calls := body.get("calls", [])[:MAX_CALLS]):
        call["name"] = call["name"][:MAX_NAME_CHARS]
        call["result"] = call.get("result", "")[:MAX_RESULT_CHARS]
        given = call.get("arguments")
        text = plain(given)
        fits = isinstance(given, Mapping) and len(text) <= MAX_RESULT_CHARS
        call["arguments"] = given if fits else {"input": text[:MAX_RESULT_CHARS]} if text else {}
    body["calls"] = calls
    whole: dict[str, Any] = _without_nul(showable(body))
    return whole


def _without_nul(value: Any) -> Any:
    if isinstance(value, str):
        return value.replace("\0", "\N{REPLACEMENT CHARACTER}")
    if isinstance(value, dict):
        return {_without_nul(key): _without_nul(item) for key, item in value.items()}
    return [_without_nul(item) for item in value] if isinstance(value, list) else value
