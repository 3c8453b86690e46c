"""A conversation as pages show it: the journal of a session, run by run, step by step."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from understudy.sessions.journal import is_silence

# The minimum width of a bar, in thousandths of the whole.
LEAST: Final = 4
# The kind of request that a run waits for, by journal event.
WAITS: Final[Mapping[str, str]] = {
    "waiting_for_approval": "approval",
    "waiting_for_user_question": "question",
}
# Run events after which the model works.
BEGINNINGS: Final = frozenset({"started", "resumed"})
ENDINGS: Final = frozenset({"failed", "interrupted", "cancelled"})
SUCCEEDED: Final = "ok"
GIST_CHARS: Final = 120


@dataclass(slots=True, kw_only=True)
class ToolUse:
    """A call of a tool and its result."""

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

    @property
    def is_silent(self) -> bool:
        """Whether the agent said that it has nothing to say."""
        return is_silence(self.text)


@dataclass(slots=True, kw_only=True)
class RunWait:
    """A period in which a run waited for a person."""

    kind: str
    at_ms: int
    ended_at_ms: int | None = None


@dataclass(slots=True, kw_only=True)
class RunTurn:
    """One run: its input, steps, status, and the candidates captured from it."""

    run_id: str
    at_ms: int
    input: str = ""
    status: str = ""
    user_id: str = ""
    steps: list[ModelStep] = field(default_factory=list)
    waits: list[RunWait] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    hints: list[str] = field(default_factory=list)
    candidate_ids: list[str] = field(default_factory=list)
    remembered: Sequence[Mapping[str, Any]] = ()
    started_at_ms: int | None = None
    # The start of the current wait, for the model or for a person.
    since_ms: int = 0
    # The journal offset of its newest event: the cursor from which a stream of the run continues.
    offset: int = 0

    @property
    def step(self) -> int:
        """The number of the newest step whose message is in the journal."""
        return self.steps[-1].number if self.steps else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineBar:
    """A part of a run on its timeline, in thousandths of its duration."""

    # queue, model, tool, approval, question, child
    kind: str
    label: str
    start: int
    width: int
    began_ms: int
    took_ms: int
    href: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildLane:
    """A sidechain that a run made; it lasts until its newest run has ended."""

    label: str
    href: str
    at_ms: int
    ended_at_ms: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRow:
    """A call of the model or of a tool with its input and output side by side."""

    # model, tool
    kind: str
    number: int
    label: str
    status: str
    took_ms: int | None
    input: str
    output: str
    tokens: Mapping[str, int] = field(default_factory=dict)

    @property
    def is_failed(self) -> bool:
        """Whether a tool was denied, or answered with an error."""
        return self.kind == "tool" and self.status not in ("", SUCCEEDED)


def turns_of(events: Iterable[Mapping[str, Any]]) -> list[RunTurn]:
    """The runs in journal events, in the order in which they were accepted."""
    runs: dict[str, RunTurn] = {}
    calls: dict[tuple[str, str], ToolUse] = {}
    for event in events:
        run_id = event.get("run_id")
        if run_id is None:
            continue
        run = runs.setdefault(run_id, RunTurn(run_id=run_id, at_ms=event["at_ms"]))
        run.offset = event.get("offset", 0)
        _apply(run, event, calls)
    return list(runs.values())


def timeline_of(
    run: RunTurn, *, until_ms: int, children: Iterable[ChildLane] = ()
) -> list[TimelineBar]:
    """The timeline of a run: its time in the queue, model calls, tools, waits and sidechains."""
    spans = [("queue", "", run.at_ms, run.started_at_ms or until_ms, "")]
    for step in run.steps:
        spans.append(("model", step.model, step.started_at_ms, step.at_ms, ""))
        spans += [
            ("tool", call.name, call.at_ms, call.ended_at_ms or until_ms, "") for call in step.calls
        ]
    spans += [(each.kind, "", each.at_ms, each.ended_at_ms or until_ms, "") for each in run.waits]
    spans += [
        ("child", each.label, each.at_ms, each.ended_at_ms or until_ms, each.href)
        for each in children
    ]
    begin, whole = run.at_ms, max(until_ms - run.at_ms, 1)
    spans.sort(key=lambda span: span[2])
    return [
        _bar(kind, label, max(start, begin), min(end, until_ms), begin, whole, href)
        for kind, label, start, end, href in spans
    ]


def steps_of(run: RunTurn) -> list[StepRow]:
    """The steps of a run: each call of the model, followed by the tools that it called."""
    rows: list[StepRow] = []
    seen = run.input
    for step in run.steps:
        wanted = "\n".join(f"{call.name} {call.arguments}" for call in step.calls)
        rows.append(
            StepRow(
                kind="model",
                number=step.number,
                label=step.model,
                status="",
                took_ms=step.at_ms - step.started_at_ms,
                input=seen,
                output="\n\n".join(filter(None, (step.text, wanted))),
                tokens=step.tokens,
            )
        )
        rows += [
            StepRow(
                kind="tool",
                number=step.number,
                label=call.name,
                status=call.status,
                took_ms=call.ended_at_ms - call.at_ms if call.ended_at_ms else None,
                input=pretty(call.arguments),
                output=call.result,
            )
            for call in step.calls
        ]
        seen = "\n\n".join(f"{call.name}: {call.result}" for call in step.calls)
    return rows


def gist(event: Mapping[str, Any]) -> str:
    """One line about a journal event."""
    data = event["data"]
    said = _text(data.get("items", ())) or data.get("text") or data.get("name")
    wanted = [str(call.get("name")) for call in data.get("tool_calls", ())]
    return " ".join(str(said or ", ".join(wanted)).split())[:GIST_CHARS]


def pretty(text: str) -> str:
    """JSON with one value in each line; another text as it is."""
    try:
        return json.dumps(json.loads(text), indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        return text


def _bar(
    kind: str, label: str, start: int, end: int, begin: int, whole: int, href: str
) -> TimelineBar:
    took = max(end - start, 0)
    at, width = (start - begin) * 1000 // whole, max(took * 1000 // whole, LEAST)
    return TimelineBar(
        kind=kind,
        label=label,
        start=min(at, 1000 - width),
        width=width,
        began_ms=start - begin,
        took_ms=took,
        href=href,
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
            name, arguments = str(data.get("name", "")), str(data.get("arguments", ""))
            call = ToolUse(name=name, arguments=arguments, at_ms=at_ms)
            calls[run.run_id, str(data.get("call_id", ""))] = call
            if run.steps:
                run.steps[-1].calls.append(call)
        case "tool_result":
            _finish(run, data, at_ms, calls)
        case "run":
            _move(run, data, at_ms)
        case "candidates_added":
            run.candidate_ids += map(str, data.get("candidate_ids", ()))
        case "remembered":
            run.remembered = data.get("remembered", ())
        case "hint":
            run.hints.append(str(data.get("text", "")))


def _finish(
    run: RunTurn, data: Mapping[str, Any], at_ms: int, calls: dict[tuple[str, str], ToolUse]
) -> None:
    run.since_ms = at_ms
    found = calls.get((run.run_id, str(data.get("call_id", ""))))
    if found is not None:
        found.status = str(data.get("status", ""))
        found.result = str(data.get("content", ""))
        found.ended_at_ms = at_ms


def _move(run: RunTurn, data: Mapping[str, Any], at_ms: int) -> None:
    what = str(data.get("type", ""))
    run.status = str(data.get("status", run.status))
    if what in WAITS or run.status not in WAITS:
        for wait in run.waits:
            wait.ended_at_ms = wait.ended_at_ms or at_ms
    if what in WAITS:
        run.waits.append(RunWait(kind=WAITS[what], at_ms=at_ms))
    if what == "started":
        run.started_at_ms = at_ms
    if what in BEGINNINGS:
        run.since_ms = at_ms
    if what in ENDINGS:
        run.notes.append(str(data.get("error") or data.get("detail") or data.get("reason") or what))


def _text(items: Sequence[Mapping[str, Any]]) -> str:
    return "\n".join(str(each.get("text") or f"[{each.get('type')}]") for each in items)
