"""The journal: what happened in a session, one event at a time, never changed afterwards."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, Final

from understudy.core.records import HIDDEN, OMIT

if TYPE_CHECKING:
    from understudy.storage.journal import JournalStore

# In the data of a `message` or `output`: how many characters of its text the model said itself, where
# the daemon put something below them.
OWN_CHARS: Final = "own_chars"
# The whole answer of an agent that has nothing to say.
SILENT: Final = "NO_REPLY"
# What models put around it.
_AROUND_SILENT: Final = " \t\r\n`*\"'."
# How many checkpoints are looked at for one that can be read.
CHECKPOINTS_TRIED: Final = 8


class EventKind(StrEnum):
    """What a journal event records."""

    SESSION = "session"  # created, persona bound, scope changed, ended
    INPUT = "input"  # what a user sent
    RUN = "run"  # a run moved on: accepted, queued, started, completed, …
    MESSAGE = "message"  # what the model answered, with its tool calls
    TOOL_CALL = "tool_call"  # a tool is about to run
    TOOL_RESULT = "tool_result"  # what the tool answered
    OUTPUT = "output"  # text for the user
    CHECKPOINT = "checkpoint"  # a summary that stands for everything before it in prompts
    LEARNING = "learning"  # something was proposed, decided or learned; ids alone, never its words
    CANDIDATES_ADDED = "candidates_added"  # a run left candidates: their ids, never their words
    HINT = "hint"  # a setting that the client may want to change; no prompt has it
    NUDGE = "nudge"  # the run was told something beside its work; which, and never the words
    ERASED = "erased"  # a tombstone: what stood here was unlearned
    DAMAGED = "damaged"  # something that can no longer be read; never written


@dataclass(frozen=True, slots=True, kw_only=True)
class NewEvent:
    """An event about to be written.

    `key` names a step of a run: an event with the same key in the same session is never written
    twice, so finding it tells that the step is done.
    """

    kind: EventKind
    data: Mapping[str, Any]
    run_id: str | None = None
    key: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalEvent:
    """An event as it stands in the journal of a session."""

    sequence: int  # position among the events of all sessions
    offset: int  # position in this session, from 1, without gaps
    session_id: str
    kind: EventKind
    at_ms: int
    run_id: Annotated[str | None, OMIT] = None
    key: Annotated[str | None, HIDDEN] = None
    # The unlearning that took it out of later prompts.
    withdrawn_by: Annotated[str | None, OMIT] = None
    data: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalPage:
    """Some events in order, and whether there are more."""

    events: tuple[JournalEvent, ...]
    more: bool


def summarised_upto(event: JournalEvent) -> int | None:
    """The offset up to which a checkpoint stands for the journal; None if it is damaged."""
    summary, upto = event.data.get("summary"), event.data.get("upto_offset")
    is_readable = isinstance(summary, str) and type(upto) is int and 0 < upto < event.offset
    return upto if is_readable else None


def newest_checkpoint(
    journal: "JournalStore", session_id: str, *, before_offset: int
) -> JournalEvent | None:
    """The newest checkpoint of a session that can be read."""
    found = journal.checkpoints(session_id, before_offset=before_offset, limit=CHECKPOINTS_TRIED)
    return next((event for event in found if summarised_upto(event) is not None), None)


def own_text(event: JournalEvent | NewEvent) -> str:
    """What the model said in a `message` or `output`: all that digests a run goes by it.

    People and the conversation are shown the whole text. Without a mark all of it is the model's.
    """
    text, end = str(event.data.get("text", "")), event.data.get(OWN_CHARS)
    return text[:end] if type(end) is int and end >= 0 else text


def is_silence(text: str) -> bool:
    """Whether a text is the token for silence and nothing else: people and webhooks get nothing."""
    return text.strip(_AROUND_SILENT) == SILENT


def may_be_silence(text: str) -> bool:
    """Whether a text that is not whole yet could become the token for silence."""
    return SILENT.startswith(text.strip(_AROUND_SILENT))


# Which flow a run is of.
FLOW_METADATA: Final = "understudy_flow"
# Keys that only the daemon may put beside an input; a caller's are dropped, and the journal
# never keeps them.
DAEMON_OWNED_METADATA = frozenset(
    {
        "learned_context",
        "recovered_memory",
        "session_skills",
        "active_skills",
        "output_contract",
        FLOW_METADATA,
    }
)


def caller_metadata(metadata: object) -> Mapping[str, Any] | None:
    """What remains of a caller's metadata: no daemon-owned keys, always an object."""
    if metadata is None:
        return None
    if not isinstance(metadata, Mapping):
        return {"user_metadata": metadata}
    return {key: value for key, value in metadata.items() if key not in DAEMON_OWNED_METADATA}
