"""What a line of a transcript of Claude Code or Codex says: typed words, work, answers, or nothing.

Who wrote a line is told by its fields and never by its text alone: what is not surely typed is not.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, Final

from understudy.core.errors import Invalid
from understudy.core.strict_json import parse_mended
from understudy.foreign.transcripts import (
    AgentText,
    InjectedText,
    LinePart,
    Prompt,
    ReportedCall,
    ReportedResult,
    TranscriptLine,
    UnknownLine,
    moment,
    plain,
    text_of,
    texts,
)

Fields = Mapping[str, Any]
# Claude Code: lines that say nothing about a turn. Among the attachments is what hooks gave to the
# prompt, our own learnings with it, which must never become evidence.
CLAUDE_OTHERS: Final = frozenset(
    [
        "agent-name",
        "ai-title",
        "api-request",
        "api-request-blob",
        "api-request-shape",
        "atis-latch",
        "attachment",
        "cost-state",
        "custom-title",
        "file-history-snapshot",
        "last-prompt",
        "mode",
        "permission-mode",
        "progress",
        "queue-operation",
        "summary",
        "system",
        "tag",
    ]
)
# Fields of lines that no person typed, though they stand in the place of the user.
NOT_TYPED: Final = (
    "handedOff",
    "isCompactSummary",
    "isMeta",
    "isVirtual",
    "isVisibleInTranscriptOnly",
    "textNotTyped",
)
# Where a prompt came from; a line without one is of an older version.
TYPED_SOURCES: Final = frozenset({None, "typed", "queued", "sdk"})
TYPED_ORIGINS: Final = frozenset({None, "human", "sdk"})
# Lines of another agent: a sidechain, a team mate, or a copy from another conversation.
OTHERS_LINES: Final = ("isSidechain", "teamName", "forkedFrom")
# Codex: lines and items that say nothing about a turn, or say it again.
CODEX_OTHERS: Final = frozenset(
    [
        "compacted",
        "inter_agent_communication",
        "security_risk_score",
        "token_usage_record",
        "turn_context",
        "world_state",
    ]
)
CODEX_CALLS: Final = frozenset(
    {"custom_tool_call", "function_call", "local_shell_call", "mcp_tool_call", "web_search_call"}
)


def claude_line(line: Fields) -> TranscriptLine:
    """A line of a transcript of Claude Code."""
    of, at_ms = text_of(line, "sessionId") or None, moment(line.get("timestamp"))
    kind = text_of(line, "type")
    if any(line.get(name) for name in OTHERS_LINES) or kind in CLAUDE_OTHERS:
        return TranscriptLine((), None)
    message = line.get("message")
    if kind == "user" and isinstance(message, dict):
        return TranscriptLine(tuple(_claude_user(line, message.get("content"))), of, at_ms)
    if kind == "assistant" and isinstance(message, dict):
        return TranscriptLine(tuple(_claude_agent(message)), of, at_ms)
    return TranscriptLine((UnknownLine(line),), of, at_ms)


def _claude_user(line: Fields, content: Any) -> Iterator[LinePart]:
    blocks = content if isinstance(content, list) else []
    results = [it for it in blocks if isinstance(it, dict) and it.get("type") == "tool_result"]
    for each in results:
        text = plain(each.get("content") or "")
        yield ReportedResult(text_of(each, "tool_use_id"), text, bool(each.get("is_error")))
    text = texts(content, "text")
    if not text.strip():
        return
    if results or any(line.get(name) for name in NOT_TYPED):
        yield InjectedText(text)
        return
    source, origin = line.get("promptSource"), line.get("turnOrigin")
    yield Prompt(text, is_typed=_is_in(source, TYPED_SOURCES) and _is_in(origin, TYPED_ORIGINS))


def _is_in(value: Any, known: frozenset[str | None]) -> bool:
    return (value is None or isinstance(value, str)) and value in known


def _claude_agent(message: Fields) -> Iterator[LinePart]:
    content, model = message.get("content"), text_of(message, "model") or None
    for each in content if isinstance(content, list) else []:
        if isinstance(each, dict) and each.get("type") == "tool_use":
            given = each.get("input")
            arguments = given if isinstance(given, dict) else {}
            yield ReportedCall(text_of(each, "id"), text_of(each, "name"), arguments)
    yield AgentText(texts(content, "text"), model)


class CodexLines:
    """Reads the lines of one rollout of Codex, which begins with what it is."""

    def __init__(self) -> None:
        # A rollout of an agent that another agent started has no words of a person.
        self._is_of_agent = False
        # Whether typed words come as items, which older versions did not write.
        self._has_items = False

    def __call__(self, line: Fields) -> TranscriptLine:
        kind, payload = text_of(line, "type"), line.get("payload")
        at_ms = moment(line.get("timestamp"))
        if not isinstance(payload, dict):
            return TranscriptLine((UnknownLine(line),), None, at_ms)
        if kind == "session_meta":
            started_by = payload.get("source")
            self._is_of_agent = bool(payload.get("parent_thread_id")) or isinstance(
                started_by, dict
            )
            return TranscriptLine((), text_of(payload, "id") or None, at_ms)
        if kind == "event_msg":
            return TranscriptLine(tuple(self._event(payload)), None, at_ms)
        if kind == "response_item":
            return TranscriptLine(tuple(_codex_item(payload)), None, at_ms)
        if kind in CODEX_OTHERS:
            return TranscriptLine((), None)
        return TranscriptLine((UnknownLine(line),), None, at_ms)

    def _event(self, event: Fields) -> Iterator[LinePart]:
        kind, item = text_of(event, "type"), event.get("item")
        if (
            kind == "item_completed"
            and isinstance(item, dict)
            and item.get("type") == "UserMessage"
        ):
            self._has_items = True
            yield Prompt(texts(item.get("content"), "text"), not self._is_of_agent)
        elif kind == "user_message" and not self._has_items:
            yield Prompt(text_of(event, "message"), not self._is_of_agent)
        elif kind in {"task_complete", "turn_complete"}:
            yield AgentText(text_of(event, "last_agent_message"))


def _codex_item(item: Fields) -> Iterator[LinePart]:
    kind = text_of(item, "type")
    if kind == "message" and item.get("role") == "assistant":
        yield AgentText(texts(item.get("content"), "output_text"))
    elif kind in CODEX_CALLS:
        given = item.get("arguments", item.get("input", item.get("action")))
        name = text_of(item, "name") or kind
        yield ReportedCall(text_of(item, "call_id"), name, arguments_of(given))
    elif kind.endswith("_output"):
        yield ReportedResult(text_of(item, "call_id"), plain(item.get("output") or ""))


def arguments_of(given: Any) -> Fields:
    """The arguments of a call, which may come as JSON text."""
    if isinstance(given, dict):
        return given
    found = given
    with suppress(Invalid):
        found = parse_mended(given) if isinstance(given, str) else given
    return found if isinstance(found, dict) else {} if given is None else {"input": plain(given)}
