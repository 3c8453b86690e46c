"""The turn that the signals of one trace are."""

import hashlib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from understudy.core.errors import Invalid
from understudy.foreign.messages import TOOL, exchange, kept_message
from understudy.foreign.signals import (
    AGENT,
    CHAIN,
    EVENT,
    MAX_TOKENS,
    MODEL,
    ROOT,
    UNTOLD,
)
from understudy.foreign.turn import ForeignCall, ForeignConversation, ForeignTurn
from understudy.foreign.typed import words_of
from understudy.runs.model import RunUsage

Body = Mapping[str, Any]
# As many of a trace as are read; a longer one is no turn of a conversation.
MAX_SIGNALS: Final = 2_000
NS_PER_MS: Final = 1_000_000
_EMPTY: Final[Body] = {"asked": "", "said": "", "beside": [], "calls": []}


def turn_of(
    bodies: Sequence[Body], *, trace: str, part: int = 1, has_words: bool = True
) -> ForeignTurn | None:
    """The turn of a trace, or a further part of it; typed words are those of one part."""
    kept = sorted(bodies, key=lambda it: (it.get("order", 0), it["began"], it.get("id", "")))
    kept = [{**_EMPTY, **it} for it in kept[:MAX_SIGNALS]]
    events = [it for it in kept if "order" in it]
    seen = _Events(events) if events else _Spans(kept)
    if not seen.told:
        return None
    typed = words_of(seen.asked if has_words or events else "")
    injected = (*typed.injected, *(it.strip() for it in seen.beside() if it != seen.asked))
    models = [it for it in seen.told if it["kind"] == MODEL or it["model"]]
    key = next((it["prompt"] for it in events if it["prompt"]), trace)
    return ForeignTurn(
        of=_conversation(seen, trace),
        turn=key if part == 1 else f"{key}.{part}",
        typed=typed.typed,
        said=seen.said,
        injected=tuple(filter(None, dict.fromkeys(injected))),
        calls=tuple(_calls(seen.told)),
        model=models[-1]["model"] or None if models else None,
        usage=_usage(models),
        error=None if seen.said else seen.whole["error"],
        began_at_ms=min(it["began"] for it in seen.told) // NS_PER_MS or None,
        ended_at_ms=max(it["ended"] for it in seen.told) // NS_PER_MS or None,
    )


class _Events:
    """The events of a coding agent: each prompt is what a person typed."""

    def __init__(self, events: Sequence[Body]) -> None:
        self.told = events
        self.whole = events[0]
        self.asked = "\n".join(it["asked"] for it in events if it["asked"])
        self.said = next((it["said"] for it in reversed(events) if it["said"]), "")

    def beside(self) -> Iterator[str]:
        """What stood in the place of the user and nobody typed."""
        return iter(())


class _Spans:
    """Spans: a person speaks to the outermost, and programs to those within."""

    def __init__(self, kept: Sequence[Body]) -> None:
        self.told = _with_events(kept)
        self._by_id = {it["id"]: it for it in self.told}
        self._holders = [it for it in self.told if it["kind"] in (AGENT, TOOL)]
        agents = [it for it in self.told if it["kind"] == AGENT and not self._around(it)][:1]
        chains = [it for it in self.told if it["kind"] == CHAIN and not it["parent"]]
        models = [it for it in self.told if it["kind"] == MODEL]
        outer = [*chains, *agents, *(it for it in models if self._around(it) in ([], agents))]
        self.whole = next(iter([*agents, *outer, *self.told]), _EMPTY)
        self.asked = next((it["asked"] for it in outer if it["asked"]), "")
        said = [it["said"] for it in (*chains, *agents, *reversed(outer)) if it["said"]]
        self.said = said[0] if said else ""

    def beside(self) -> Iterator[str]:
        """What stood in the place of the user and nobody typed."""
        for each in self.told:
            if each["kind"] in (AGENT, MODEL):
                yield from (*each["beside"], each["asked"])

    def _around(self, inner: Body) -> list[Body]:
        """The agents and tools that a span is part of, by its parents or by time."""
        parents = self._parents(inner)
        return [
            outer
            for outer in self._holders
            if outer["id"] in parents
            or (outer["began"] < inner["began"] and inner["ended"] < outer["ended"])
        ]

    def _parents(self, inner: Body) -> set[str]:
        found: set[str] = set()
        at = inner["parent"]
        while at and at not in found:
            found.add(at)
            at = self._by_id.get(at, {}).get("parent", "")
        return found


def _with_events(kept: Sequence[Body]) -> list[Body]:
    """The spans, each with what log records say of it."""
    events: dict[str, list[Body]] = defaultdict(list)
    for each in kept:
        if each["kind"] == EVENT:
            events[each["of"]].append(each)
    return [{**it, **_told_by(events[it["id"]])} for it in kept if it["kind"] not in (EVENT, ROOT)]


def _told_by(events: Sequence[Body]) -> dict[str, Any]:
    messages = [it for it in events if "role" in it]
    given = [kept_message(it) for it in messages if not it["answers"]]
    found = exchange(given, [kept_message(it) for it in messages if it["answers"]])
    told: dict[str, Any] = {}
    for each in (found, *(it for it in events if "role" not in it)):
        told |= {name: each[name] for name in _EMPTY if each[name]}
    return told


def _calls(told: Sequence[Body]) -> Iterator[ForeignCall]:
    """Each call once: as its own span tells it, else as the messages of a model do."""
    found: dict[str, dict[str, Any]] = {}
    unnumbered = set[str]()
    for span in sorted(told, key=lambda it: it["kind"] == MODEL):
        is_own = span["kind"] != MODEL
        for number, call in enumerate(span["calls"]):
            name, call_id = call["name"], call.get("id")
            if is_own and not call_id:
                unnumbered.add(name)
            if not is_own and call_id not in found and name in unnumbered:
                continue
            key = call_id or f"{span.get('id', span['began'])}:{number}"
            known = found.setdefault(key, {**call, "began": span["began"]})
            if known.get("result", UNTOLD) in ("", UNTOLD):
                known["result"] = call.get("result")
    for call in sorted(found.values(), key=lambda it: it["began"]):
        yield ForeignCall(
            name=call["name"],
            arguments=call["arguments"],
            result=call["result"] or UNTOLD,
            failed=call.get("failed", False),
        )


def _usage(models: Sequence[Body]) -> RunUsage:
    given, made = (min(sum(it["tokens"][at] for it in models), MAX_TOKENS) for at in (0, 1))
    return RunUsage(input_tokens=given, output_tokens=made, model_calls=len(models))


def _conversation(seen: "_Events | _Spans", trace: str) -> ForeignConversation:
    named = (it["conversation"] for it in (seen.whole, *seen.told))
    wanted = next(filter(None, named), trace)
    found = ForeignConversation(source=seen.whole["source"], conversation=wanted)
    try:
        found.check()
    except Invalid:
        digest = hashlib.sha256(wanted.encode(errors="replace")).hexdigest()
        return ForeignConversation(source=found.source, conversation=digest)
    return found
