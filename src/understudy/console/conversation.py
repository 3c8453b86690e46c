"""A conversation as pages show it: the journal of a session, run by run, step by step."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

# The least width of a bar, in thousandths of the whole.
LEAST: Final = 4


@dataclass(slots=True, kw_only=True)
class ToolUse:
    """A call of a tool and what came of it."""

    name: str
    arguments: str
    at_ms: int
    status: str = ""
    result: str = ""
    ended_at_ms: int | None = None


@dataclass(slots=True, kw_only=True)
class ModelStep:
    """One answer of the model, and the tools that it called."""

    number: int
    text: str
    model: str
    started_at_ms: int
    at_ms: int
    tokens: Mapping[str, int]
    calls: list[ToolUse] = field(default_factory=list)


@dataclass(slots=True, kw_only=True)
class RunTurn:
    """One run: what was said, how it was worked on, how it stands."""

    run_id: str
    at_ms: int
    input: str = ""
    status: str = ""
    user_id: str = ""
    steps: list[ModelStep] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    # Since when the model or a person is waited for.
    since_ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineBar:
    """A part of a run on its timeline, in thousandths of its duration."""

    kind: str
    label: str
    start: int
    width: int
    took_ms: int


def turns_of(events: Iterable[Mapping[str, Any]]) -> list[RunTurn]:
    """The runs in journal events, in the order in which they were accepted."""
    runs: dict[str, RunTurn] = {}
    calls: dict[tuple[str, str], ToolUse] = {}
    for event in events:
        run_id = event.get("run_id")
        if run_id is None:
            continue
        run = runs.setdefault(run_id, RunTurn(run_id=run_id, at_ms=event["at_ms"]))
        _apply(run, event, calls)
    return list(runs.values())


def timeline_of(run: RunTurn, *, until_ms: int) -> list[TimelineBar]:
    """What a run did when: model calls and tool calls, one after the other."""
    begin = run.at_ms
    whole = max(until_ms - begin, 1)
    bars: list[TimelineBar] = []
    for step in run.steps:
        bars.append(_bar("model", step.model, step.started_at_ms, step.at_ms, begin, whole))
        bars += [
            _bar("tool", call.name, call.at_ms, call.ended_at_ms or until_ms, begin, whole)
            for call in step.calls
        ]
    return bars


def _bar(kind: str, label: str, start: int, end: int, begin: int, whole: int) -> TimelineBar:
    at = (start - begin) * 1000 // whole
    width = max((end - start) * 1000 // whole, LEAST)
    return TimelineBar(
        kind=kind, label=label, start=min(at, 1000 - width), width=width, took_ms=end - start
    )


def _apply(run: RunTurn, event: Mapping[str, Any], calls: dict[tuple[str, str], ToolUse]) -> None:
    data, at_ms = event["data"], event["at_ms"]
    match event["kind"]:
        case "input":
            run.input = _text(data.get("items", ()))
            run.user_id = str(data.get("user_id", ""))
            run.since_ms = at_ms
        case "message":
            run.steps.append(
                ModelStep(
                    number=int(data.get("step", 0)),
                    text=str(data.get("text", "")),
                    model=str(data.get("model", "")),
                    started_at_ms=run.since_ms or at_ms,
                    at_ms=at_ms,
                    tokens=data.get("usage", {}),
                )
            )
            run.since_ms = at_ms
        case "tool_call":
            call = ToolUse(name=data["name"], arguments=str(data.get("arguments", "")), at_ms=at_ms)
            calls[run.run_id, data["call_id"]] = call
            if run.steps:
                run.steps[-1].calls.append(call)
        case "tool_result":
            found = calls.get((run.run_id, data["call_id"]))
            if found is not None:
                found.status = str(data.get("status", ""))
                found.result = str(data.get("content", ""))
                found.ended_at_ms = at_ms
            run.since_ms = at_ms
        case "run":
            run.status = str(data.get("status", run.status))
            if data.get("type") in ("failed", "interrupted", "cancelled"):
                run.notes.append(str(data.get("detail") or data.get("reason") or data["type"]))
            if data.get("type") in ("started", "resumed"):
                run.since_ms = at_ms


def _text(items: Sequence[Mapping[str, Any]]) -> str:
    return "\n".join(str(each.get("text") or f"[{each.get('type')}]") for each in items)
