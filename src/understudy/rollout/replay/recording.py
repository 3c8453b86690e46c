"""What the tools of a recorded run answered, so that a replay can be told the same again."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from understudy.sessions.journal import EventKind, JournalEvent

CALLED: Final = ":call:"
RESULTED: Final = ":result:"


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A call as it is recognised: the tool by its own name, the arguments in one form."""

    tool: str
    arguments: str


# A call as a model made it, by the name it used and raw JSON; None: not one that is recorded.
Recognise = Callable[[str, str], Call | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What came of a call."""

    is_ok: bool
    content: str
    # Of the whole, where the content is only a part of it.
    artifact_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """The answers of one run: those of equal calls in the order in which they were made."""

    run_id: str
    answers: Mapping[Call, tuple[Answer, ...]] = field(default_factory=dict)

    def answer(self, call: Call, number: int) -> Answer | None:
        """What came of the call when it was made for the nth time, from 1."""
        known = self.answers.get(call, ())
        return known[number - 1] if 1 <= number <= len(known) else None

    def count(self, call: Call) -> int:
        """How often the call was made."""
        return len(self.answers.get(call, ()))


def read_recording(run_id: str, events: Iterable[JournalEvent], recognise: Recognise) -> Recording:
    """The answers that the journal of a run holds; calls that did not run have none."""
    calls: dict[str | None, tuple[tuple[int, int], Call]] = {}
    found: dict[Call, list[tuple[tuple[int, int], Answer]]] = {}
    for event in events:
        if event.kind is EventKind.TOOL_CALL and event.key is not None:
            call = recognise(_text(event.data, "name"), _text(event.data, "arguments"))
            if call is not None:
                calls[event.key.replace(CALLED, RESULTED)] = (_place(event.data), call)
        elif event.key in calls and event.data.get("executed"):
            # Calls of one reply end in any order; their places tell how they were asked for.
            place, call = calls[event.key]
            found.setdefault(call, []).append((place, _answer(event.data)))
    return Recording(
        run_id=run_id,
        answers={
            call: tuple(answer for _, answer in sorted(each, key=lambda it: it[0]))
            for call, each in found.items()
        },
    )


@dataclass(slots=True)
class CallNumbers:
    """Counts equal calls by their place in a run, so that a repeat after a crash counts the same."""

    recognise: Recognise
    _counts: Counter[Call] = field(default_factory=Counter)
    _numbers: dict[tuple[int, int], int] = field(default_factory=dict)
    _last_step: int = 0

    def number(self, place: tuple[int, int], replies: Iterable[JournalEvent]) -> int:
        """How often the call at a place, a step and an index, was made by then, itself included.

        `replies` are the events of the run in order; those that were looked at are passed over.
        """
        for event in replies:
            if event.kind is EventKind.MESSAGE:
                self._count(event.data)
        return self._numbers.get(place, 1)

    def _count(self, reply: Mapping[str, Any]) -> None:
        step = reply.get("step")
        if not isinstance(step, int) or step <= self._last_step:
            return
        self._last_step = step
        for index, made in enumerate(reply.get("tool_calls", ())):
            call = self.recognise(_text(made, "name"), _text(made, "arguments"))
            if call is not None:
                self._counts[call] += 1
                self._numbers[step, index] = self._counts[call]


def place_in(call_key: str) -> tuple[int, int]:
    """The step and index that the key of a call names."""
    _, _, place = call_key.rpartition(CALLED)
    step, _, index = place.partition(":")
    return int(step), int(index)


def _place(data: Mapping[str, Any]) -> tuple[int, int]:
    step, index = data.get("step"), data.get("index")
    return (step if isinstance(step, int) else 0, index if isinstance(index, int) else 0)


def _answer(data: Mapping[str, Any]) -> Answer:
    artifact_id = data.get("artifact_id")
    return Answer(
        is_ok=data.get("status") == "ok",
        content=_text(data, "content"),
        artifact_id=artifact_id if isinstance(artifact_id, str) else None,
    )


def _text(data: Mapping[str, Any], name: str) -> str:
    value = data.get(name)
    return value if isinstance(value, str) else ""
