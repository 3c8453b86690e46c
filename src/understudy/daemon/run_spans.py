"""Spans of our own runs, made of the journal when a run ends: none is open while a run sleeps.

Names are those of the GenAI semantic conventions. What they say is content, and off by default.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from understudy.core.trace_context import ids_in, span_id_of, trace_id_of
from understudy.runs.execute import MAX_RUN_EVENTS
from understudy.runs.model import Run, RunKind
from understudy.sessions.journal import EventKind, JournalEvent
from understudy.settings import OtelConfig, SettingsError

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan

    from understudy.storage.unit import Unit

MISSING: Final = (
    "[otel] endpoint needs the packages of the extra: install understudy[otel], or leave it out"
)
# How long an export is tried, which a shutdown waits for.
EXPORT_S: Final = 5
NS_PER_MS: Final = 1_000_000
# Tools whose calls are operations on memory.
MEMORY_TOOLS: Final = {"remember": "create_memory", "memory_search": "search_memory"}
# The attribute of a name with what was said, or nothing where content is off.
Content: TypeAlias = Callable[[str, str], dict[str, str]]
_KINDS: Final = (
    EventKind.RUN,
    EventKind.REMEMBERED,
    EventKind.MESSAGE,
    EventKind.TOOL_CALL,
    EventKind.TOOL_RESULT,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSpan:
    """A span before it is exported."""

    name: str
    operation: str
    # What tells it from the other spans of its run.
    key: str
    began_ms: int
    ended_ms: int
    attributes: Mapping[str, Any]
    error: str | None = None


class RunSpans:
    """Exports the spans of runs that end; without an endpoint nothing is loaded."""

    def __init__(self, config: OtelConfig, scrub: Callable[[str], str]) -> None:
        try:
            from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
            from opentelemetry.sdk.resources import Resource
            from opentelemetry.sdk.trace.export import BatchSpanProcessor
        except ImportError:
            raise SettingsError(MISSING) from None
        self._scrub = scrub if config.content else None
        self._resource = Resource.create({"service.name": "understudy"})
        endpoint = f"{str(config.endpoint).rstrip('/')}/v1/traces"
        self._processor = BatchSpanProcessor(OTLPSpanExporter(endpoint=endpoint, timeout=EXPORT_S))

    def ended(self, unit: "Unit", run: Run) -> None:
        """Export the spans of a run after the commit of its end."""
        if run.kind is RunKind.FOREIGN_TURN:
            return
        events = unit.journal.read(run_id=run.run_id, kinds=_KINDS, limit=MAX_RUN_EVENTS)
        spans = [self._readable(run, each) for each in spans_of(run, events, scrub=self._scrub)]
        for span in spans:
            unit.after_commit(partial(self._processor.on_end, span))

    def stop(self) -> None:
        """Send what waits, and end."""
        self._processor.shutdown()  # type: ignore[no-untyped-call]

    def _readable(self, run: Run, span: RunSpan) -> "ReadableSpan":
        from opentelemetry.sdk.trace import ReadableSpan
        from opentelemetry.trace import SpanContext, SpanKind, Status, StatusCode, TraceFlags

        trace_id = int(trace_id_of(run.run_id, run.request.traceparent), 16)

        def context(span_id: str, *, is_remote: bool = False) -> SpanContext:
            flags = TraceFlags(TraceFlags.SAMPLED)
            return SpanContext(trace_id, int(span_id, 16), is_remote, flags)

        root = span_id_of(run.run_id)
        parent = context(root) if span.key else None
        if not span.key and run.request.traceparent:
            parent = context(ids_in(run.request.traceparent)[1], is_remote=True)
        named = {"gen_ai.operation.name": span.operation, "gen_ai.conversation.id": run.session_id}
        return ReadableSpan(
            name=span.name,
            context=context(span_id_of(run.run_id, span.key) if span.key else root),
            parent=parent,
            resource=self._resource,
            attributes=named | {key: it for key, it in span.attributes.items() if it is not None},
            kind=SpanKind.CLIENT if span.operation == "chat" else SpanKind.INTERNAL,
            status=Status(StatusCode.ERROR, span.error) if span.error else Status(),
            start_time=span.began_ms * NS_PER_MS,
            end_time=span.ended_ms * NS_PER_MS,
        )


def spans_of(
    run: Run, events: Sequence[JournalEvent], *, scrub: Callable[[str], str] | None = None
) -> Iterator[RunSpan]:
    """The spans of a run; with `scrub` they carry what was said, without its secrets."""

    def content(name: str, value: str) -> dict[str, str]:
        return {name: scrub(value)} if scrub and value else {}

    at, calls = run.started_at_ms or run.submitted_at_ms, dict[str, JournalEvent]()
    yield _agent_span(run, at, content)
    for event in events:
        match event.kind:
            case EventKind.REMEMBERED:
                yield _recall_span(event, at)
            case EventKind.MESSAGE:
                yield _chat_span(run, event, at, content)
            case EventKind.TOOL_CALL:
                calls[_call_of(event)] = event
            case EventKind.TOOL_RESULT:
                yield _tool_span(event, calls.get(_call_of(event)), at, content)
        # What follows began when this was done; a sleep ends with the event that resumes the run.
        at = max(at, event.at_ms)


def _agent_span(run: Run, began_ms: int, content: Content) -> RunSpan:
    return RunSpan(
        name=f"invoke_agent {run.agent_id}",
        operation="invoke_agent",
        key="",
        began_ms=began_ms,
        ended_ms=max(run.finished_at_ms or run.updated_at_ms, began_ms),
        attributes={
            "gen_ai.agent.id": run.agent_id,
            "gen_ai.agent.name": run.agent_id,
            "gen_ai.request.model": run.route.model,
            "gen_ai.usage.input_tokens": run.usage.input_tokens,
            "gen_ai.usage.output_tokens": run.usage.output_tokens,
            "understudy.run.id": run.run_id,
            "understudy.run.status": str(run.status),
        }
        | content("gen_ai.input.messages", _messages("user", run.input.text)),
        error=run.error,
    )


def _recall_span(event: JournalEvent, began_ms: int) -> RunSpan:
    return RunSpan(
        name="search_memory",
        operation="search_memory",
        key=_key_of(event),
        began_ms=began_ms,
        ended_ms=event.at_ms,
        attributes={"gen_ai.memory.record.count": len(event.data.get("remembered", ()))},
    )


def _chat_span(run: Run, event: JournalEvent, began_ms: int, content: Content) -> RunSpan:
    data = event.data
    usage = data.get("usage", {})
    return RunSpan(
        name=f"chat {run.route.model}",
        operation="chat",
        key=_key_of(event),
        began_ms=began_ms,
        ended_ms=event.at_ms,
        attributes={
            "gen_ai.request.model": run.route.model,
            "gen_ai.response.model": data.get("model") or None,
            "gen_ai.response.finish_reasons": [str(data.get("finish_reason", ""))],
            "gen_ai.usage.input_tokens": usage.get("input_tokens"),
            "gen_ai.usage.output_tokens": usage.get("output_tokens"),
        }
        | content("gen_ai.output.messages", _messages("assistant", str(data.get("text", "")))),
    )


def _tool_span(
    result: JournalEvent, call: JournalEvent | None, began_ms: int, content: Content
) -> RunSpan:
    data = result.data
    name = str(data.get("name", ""))
    given = json.dumps(call.data.get("arguments")) if call else ""
    operation = MEMORY_TOOLS.get(name, "execute_tool")
    return RunSpan(
        name=f"{operation} {name}" if operation == "execute_tool" else operation,
        operation=operation,
        key=_key_of(result),
        began_ms=call.at_ms if call else began_ms,
        ended_ms=result.at_ms,
        attributes={
            "gen_ai.tool.name": name,
            "gen_ai.tool.call.id": str(data.get("call_id", "")),
        }
        | content("gen_ai.tool.call.arguments", given)
        | content("gen_ai.tool.call.result", str(data.get("content", ""))),
        error=None if data.get("status") == "ok" else str(data.get("status")),
    )


def _key_of(event: JournalEvent) -> str:
    return f"{event.key or event.offset}"


def _call_of(event: JournalEvent) -> str:
    """What a call and its result have in common."""
    return f"{event.data.get('step')}:{event.data.get('call_id')}"


def _messages(role: str, text: str) -> str:
    if not text:
        return ""
    part = {"type": "text", "content": text}
    return json.dumps([{"role": role, "parts": [part]}], ensure_ascii=False)
