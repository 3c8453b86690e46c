"""Messages as telemetry carries them: GenAI conventions, OpenInference, and what frameworks log."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields
from typing import Any, Final

from understudy.core.strict_json import no_constant

Attributes = Mapping[str, Any]
USER: Final = "user"
ASSISTANT: Final = "assistant"
TOOL: Final = "tool"
_ROLES: Final = {"human": USER, "ai": ASSISTANT, "model": ASSISTANT, "function": TOOL}
# Where an object that is no list of messages has its text.
_TEXT_KEYS: Final = ("input", "question", "query", "prompt", "text", "content", "output", "answer")
MAX_DEPTH: Final = 12


@dataclass(slots=True, kw_only=True)
class TelemetryMessage:
    """One message: its text, the calls that it asks for, and what calls gave back."""

    role: str
    text: str = ""
    # As `id`, `name`, `arguments`, and `result` where it is known.
    calls: list[dict[str, Any]] = field(default_factory=list)
    results: list[dict[str, Any]] = field(default_factory=list)


def kept_message(told: Mapping[str, Any]) -> TelemetryMessage:
    """A message of what was kept of it, among other fields."""
    return TelemetryMessage(**{each.name: told[each.name] for each in fields(TelemetryMessage)})


def messages_in(value: Any, role: str = USER) -> list[TelemetryMessage]:
    """The messages of a value: a list, an object that holds one, their JSON, or a bare text."""
    if isinstance(value, str):
        return _of_text(value, role)
    if isinstance(value, Mapping):
        if isinstance(held := value.get("messages"), list):
            return messages_in(held, role)
        if "role" in value or "kwargs" in value or "message" in value:
            return [_message(value, role)]
        texts = [value[key] for key in _TEXT_KEYS if isinstance(value.get(key), str)]
        return [TelemetryMessage(role=role, text=texts[0])] if texts else []
    if isinstance(value, list):
        # Some frameworks log a batch of conversations.
        listed = value[0] if value and isinstance(value[0], list) else value
        return [_message(each, role) for each in listed if isinstance(each, Mapping)]
    return []


def unflattened(attributes: Attributes, prefix: str) -> list[Any]:
    """The list that stands flattened under a prefix: `prefix0.role`, `prefix0.content`, …"""
    tree: dict[str, Any] = {}
    for name, value in attributes.items():
        path = name.removeprefix(prefix).split(".", MAX_DEPTH)
        if not name.startswith(prefix) or not path[0].isdecimal():
            continue
        branch = tree
        for part in path[:-1]:
            below = branch.setdefault(part, {})
            branch = below if isinstance(below, dict) else {}
        branch[path[-1]] = value
    listed = _listed(tree)
    return listed if isinstance(listed, list) else []


def plain(value: Any) -> str:
    """A value as text: itself, or its JSON."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def parsed(value: Any) -> Any:
    """The value of a JSON text; the text where it is none."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        with suppress(ValueError, RecursionError):
            return json.loads(value, parse_constant=no_constant)
    return value


def _of_text(text: str, role: str) -> list[TelemetryMessage]:
    found = parsed(text)
    if isinstance(found, str):
        return [TelemetryMessage(role=role, text=found)] if found.strip() else []
    return messages_in(found, role)


def _message(raw: Mapping[str, Any], role: str) -> TelemetryMessage:
    for wrapper in ("message", "kwargs"):
        inner = raw.get(wrapper)
        raw = inner if isinstance(inner, Mapping) else raw
    named = str(raw.get("role") or raw.get("type") or role).lower()
    message = TelemetryMessage(role=_ROLES.get(named, named))
    texts = [text for part in _parts(raw) if (text := _take(message, part))]
    message.text = "\n".join(texts)
    if message.role == TOOL and message.text:
        of_call = raw.get("tool_call_id") or raw.get("id")
        message.results.append(_result(of_call, raw.get("name"), message.text))
        message.text = ""
    return message


def _parts(raw: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for name in ("parts", "content", "contents"):
        held = parsed(raw.get(name)) if name == "parts" else raw.get(name)
        for part in held if isinstance(held, list) else [held]:
            inner = part.get("message_content", part) if isinstance(part, Mapping) else part
            if isinstance(inner, str):
                yield {"type": "text", "content": inner}
            elif isinstance(inner, Mapping):
                yield inner
    calls = raw.get("tool_calls")
    for each in calls if isinstance(calls, list) else ():
        if isinstance(each, Mapping):
            call = _inner(each, "tool_call")
            yield {**call, **_inner(call, "function"), "type": "tool_call"}


def _inner(raw: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    inner = raw.get(name)
    return inner if isinstance(inner, Mapping) else raw


def _take(message: TelemetryMessage, part: Mapping[str, Any]) -> str:
    """Take the call or the result of a part into its message; the text of any other."""
    match part.get("type", "text"):
        case "text" | "input_text" | "output_text":
            return plain(part.get("content") or part.get("text"))
        case "tool_call" | "tool_use" | "function_call":
            given = parsed(part.get("arguments", part.get("input")))
            name, call_id = plain(part.get("name")), plain(part.get("id"))
            message.calls.append({"id": call_id, "name": name or TOOL, "arguments": given})
        case "tool_call_response" | "tool_result":
            back = part.get("result", part.get("response", part.get("content")))
            of_call = part.get("id") or part.get("tool_use_id")
            message.results.append(_result(of_call, part.get("name"), plain(back)))
    return ""


def _result(of_call: Any, name: Any, text: str) -> dict[str, Any]:
    return {"id": plain(of_call), "name": plain(name), "result": text}


def _listed(tree: Any) -> Any:
    """A tree with its numbered branches as lists."""
    if not isinstance(tree, dict):
        return tree
    if tree and all(key.isdecimal() for key in tree):
        return [_listed(tree[key]) for key in sorted(tree, key=lambda it: (len(it), it))]
    return {key: _listed(value) for key, value in tree.items()}


def exchange(
    given: Sequence[TelemetryMessage], answered: Sequence[TelemetryMessage]
) -> dict[str, Any]:
    """What was asked last, what stood beside it, the calls since then, and what was said."""
    asked = max((at for at, it in enumerate(given) if it.role == USER and it.text), default=-1)
    before = next((at for at in range(asked - 1, -1, -1) if given[at].role == ASSISTANT), -1)
    since = (*given[asked + 1 :], *answered)
    results = [result for each in since for result in each.results]
    calls = [call for each in since for call in each.calls]
    said = [each.text for each in answered if each.text and each.role != USER]
    return {
        "asked": given[asked].text if asked >= 0 else "",
        "beside": [it.text for it in given[before + 1 : max(asked, 0)] if it.role == USER],
        "calls": _with_results(calls, results),
        "said": said[-1] if said else "",
    }


def _with_results(
    calls: Sequence[Mapping[str, Any]], results: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    by_id = {each["id"]: each for each in results if each["id"]}
    joined = [{**each, **_back(by_id.pop(each["id"], None))} for each in calls]
    left = [each for each in results if not each["id"] or each["id"] in by_id]
    return [*joined, *({"name": TOOL, "arguments": {}, **_named(each)} for each in left)]


def _back(result: Mapping[str, Any] | None) -> dict[str, Any]:
    return {"result": result["result"]} if result else {}


def _named(result: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in result.items() if value or key != "name"}
