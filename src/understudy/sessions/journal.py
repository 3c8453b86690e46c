"""The journal: append-only events of a session."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, Final

from understudy.core.errors import coded_error
from understudy.core.records import HIDDEN, OMIT

if TYPE_CHECKING:
    from understudy.storage.journal import JournalStore

# In the data of a `message` or `output`: the length of the model's own text, where the daemon
# appended a remark.
OWN_CHARS: Final = "own_chars"
# The whole answer of an agent that wants to stay silent.
SILENT: Final = "NO_REPLY"
# Characters that models put around it.
_AROUND_SILENT: Final = " \t\r\n`*\"'."
# Maximum number of checkpoints read to find one that decodes.
CHECKPOINTS_TRIED: Final = 8
# The largest number in a place.
MAX_NUMBER: Final = 2**62


class EventKind(StrEnum):
    """What a journal event records."""

    SESSION = "session"  # created, persona bound, scope changed, ended
    INPUT = "input"  # the user's input
    RUN = "run"  # a run changed: accepted, queued, started, completed, …
    MESSAGE = "message"  # a reply of the model, with its tool calls
    TOOL_CALL = "tool_call"  # a tool is about to run
    TOOL_RESULT = "tool_result"  # the result of the tool
    OUTPUT = "output"  # text for the user
    CHECKPOINT = "checkpoint"  # a summary that replaces everything before it in prompts
    LEARNING = "learning"  # something was proposed, decided or learned; ids only, never content
    CANDIDATES_ADDED = "candidates_added"  # a run left candidates: their ids, never content
    HINT = "hint"  # a setting that the client may want to change; no prompt has it
    REMEMBERED = "remembered"  # what a prompt was given: ids and kinds, never content
    NUDGE = "nudge"  # a remark to the run beside its work; which one, and never the text
    CLIENT = "client"  # what the client of a foreign agent reported that has no other kind
    ERASED = "erased"  # a tombstone: the event was unlearned
    DAMAGED = "damaged"  # an event that does not decode; never written


@dataclass(frozen=True, slots=True, kw_only=True)
class NewEvent:
    """A new event.

    `key` names a step of a run: an event with the same key in the same session is never written
    twice, so finding it proves that the step is done.
    """

    kind: EventKind
    data: Mapping[str, Any]
    run_id: str | None = None
    key: str | None = None


@dataclass(frozen=True, slots=True, order=True)
class FeedPlace:
    """A place in the feed of all sessions, which is ordered by commit; the first of all by default.

    `tx` is a number that transactions of PostgreSQL take in turn; on SQLite, and in what an older
    version wrote, it is 0.
    """

    tx: int = 0
    sequence: int = 0

    def __str__(self) -> str:
        return f"{self.tx}.{self.sequence}" if self.tx else str(self.sequence)

    @classmethod
    def parse(cls, text: str) -> "FeedPlace":
        """The place that an event id names; raises `Invalid`."""
        parts = text.strip().split(".")
        are_numbers = all(part.isascii() and part.isdigit() and len(part) < 20 for part in parts)
        numbers = [int(part) for part in parts] if are_numbers else []
        if len(numbers) not in (1, 2) or any(number > MAX_NUMBER for number in numbers):
            raise coded_error("pagination/invalid_cursor", pointer="/cursor")
        return cls(*[0, *numbers][-2:])


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalEvent:
    """An event in the journal of a session."""

    sequence: int  # a number among the events of all sessions
    offset: int  # position in this session, from 1, without gaps
    session_id: str
    kind: EventKind
    at_ms: int
    run_id: Annotated[str | None, OMIT] = None
    key: Annotated[str | None, HIDDEN] = None
    # Not less than the number of the transaction that wrote it; see `FeedPlace`.
    tx: Annotated[int, HIDDEN] = 0
    # The unlearning that withdrew it from later prompts.
    withdrawn_by: Annotated[str | None, OMIT] = None
    data: Mapping[str, Any] = field(default_factory=dict)

    @property
    def place(self) -> FeedPlace:
        """Its place among the events of all sessions."""
        return FeedPlace(self.tx, self.sequence)


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalPage:
    """Some events in order, and whether there are more."""

    events: tuple[JournalEvent, ...]
    more: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedPage(JournalPage):
    """Some events of all sessions, in the order of their commits."""

    # The place up to which all wanted events are read now.
    place: FeedPlace
    # Whether committed events wait for an older transaction: no bell rings when it ends.
    is_held: bool


def summarised_upto(event: JournalEvent) -> int | None:
    """The offset up to which a checkpoint replaces the journal; None if it is damaged."""
    summary, upto = event.data.get("summary"), event.data.get("upto_offset")
    is_readable = isinstance(summary, str) and type(upto) is int and 0 < upto < event.offset
    return upto if is_readable else None


def newest_checkpoint(
    journal: "JournalStore", session_id: str, *, before_offset: int
) -> JournalEvent | None:
    """The newest checkpoint of a session that decodes."""
    found = journal.checkpoints(session_id, before_offset=before_offset, limit=CHECKPOINTS_TRIED)
    return next((event for event in found if summarised_upto(event) is not None), None)


def own_text(event: JournalEvent | NewEvent) -> str:
    """The model's own text of a `message` or `output`: whatever digests a run uses it.

    People and the conversation get the whole text. Without a mark all of it is the model's.
    """
    text, end = str(event.data.get("text", "")), event.data.get(OWN_CHARS)
    return text[:end] if type(end) is int and end >= 0 else text


def is_silence(text: str) -> bool:
    """Whether a text is exactly the token for silence: people and webhooks get nothing."""
    return text.strip(_AROUND_SILENT) == SILENT


def may_be_silence(text: str) -> bool:
    """Whether an incomplete text could become the token for silence."""
    return SILENT.startswith(text.strip(_AROUND_SILENT))


# The flow of a run.
FLOW_METADATA: Final = "understudy_flow"
# What a request of the OpenAI wire said besides its text.
OPENAI_METADATA: Final = "understudy_openai"
# Metadata keys that only the daemon may set; a caller's are dropped, and the journal never has
# them.
DAEMON_OWNED_METADATA = frozenset(
    {
        "learned_context",
        "recovered_memory",
        "session_skills",
        "active_skills",
        "output_contract",
        FLOW_METADATA,
        OPENAI_METADATA,
    }
)


def caller_metadata(metadata: object) -> Mapping[str, Any] | None:
    """A caller's metadata without daemon-owned keys, always an object."""
    if metadata is None:
        return None
    if not isinstance(metadata, Mapping):
        return {"user_metadata": metadata}
    return {key: value for key, value in metadata.items() if key not in DAEMON_OWNED_METADATA}
