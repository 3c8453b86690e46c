"""What a run was given to remember: ids in its journal, texts looked up for each reader."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from understudy.core.errors import Unavailable
from understudy.core.text import one_line, preview
from understudy.runs.model import Run
from understudy.sessions.journal import EventKind, JournalEvent, NewEvent

if TYPE_CHECKING:
    from understudy.storage.unit import Unit

RememberedKind: TypeAlias = Literal["learning", "run_memory"]
LEARNING: Final = "learning"
RUN_MEMORY: Final = "run_memory"
# The field of the event, stored with ids and kinds only: an erased text is in no journal.
REMEMBERED: Final = "remembered"
# The most characters shown of a run memory.
MEMORY_CHARS: Final = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Remembered:
    """A learning or a run memory that a run was given."""

    id: str
    kind: RememberedKind
    # What it says; of a run memory the beginning.
    content: str


def remembered_event(run: Run, learnings: Iterable[str], runs: Iterable[str]) -> NewEvent | None:
    """The journal event for the learnings and runs in a prompt; None without any."""
    named = [*((LEARNING, it) for it in learnings), *((RUN_MEMORY, it) for it in runs)]
    if not named:
        return None
    data = {REMEMBERED: [{"id": id_, "kind": kind} for kind, id_ in named]}
    return NewEvent(kind=EventKind.REMEMBERED, run_id=run.run_id, data=data)


def remembered_in(
    unit: "Unit", events: Sequence[JournalEvent]
) -> dict[str | None, tuple[Remembered, ...]]:
    """What the reader may see of what these events name, by run."""
    if not events:
        return {}
    named = {event.run_id: tuple(_named(event)) for event in events}
    texts = _texts(unit, {pair for pairs in named.values() for pair in pairs})
    return {
        run_id: tuple(
            Remembered(id=id_, kind=kind, content=texts[kind, id_])
            for kind, id_ in pairs
            if (kind, id_) in texts
        )
        for run_id, pairs in named.items()
    }


def with_remembered(unit: "Unit", events: Sequence[JournalEvent]) -> tuple[JournalEvent, ...]:
    """The events, with the texts of what was remembered."""
    shown = remembered_in(unit, [it for it in events if it.kind is EventKind.REMEMBERED])
    if not shown:
        return tuple(events)
    return tuple(
        replace(it, data={REMEMBERED: [asdict(one) for one in shown[it.run_id]]})
        if it.kind is EventKind.REMEMBERED
        else it
        for it in events
    )


def _named(event: JournalEvent) -> Iterator[tuple[RememberedKind, str]]:
    for one in event.data.get(REMEMBERED, ()):
        yield one["kind"], one["id"]


def _texts(
    unit: "Unit", named: Collection[tuple[RememberedKind, str]]
) -> dict[tuple[RememberedKind, str], str]:
    """The texts that still exist and that the reader may see."""
    learnings = [id_ for kind, id_ in named if kind == LEARNING]
    runs = [id_ for kind, id_ in named if kind == RUN_MEMORY]
    texts: dict[tuple[RememberedKind, str], str] = {}
    # A store that fails hides no run.
    with suppress(Unavailable):
        for id_, learning in unit.learnings.readable(learnings).items():
            texts[LEARNING, id_] = learning.content
    with suppress(Unavailable):
        for id_, record in unit.run_memories.readable(runs).items():
            texts[RUN_MEMORY, id_] = preview(one_line(record.memory.summary), MEMORY_CHARS)
    return texts
