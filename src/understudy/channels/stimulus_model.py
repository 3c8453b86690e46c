"""The records of a stimulus: a post to a channel that no person asked for."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, Final, Literal

from understudy.channels.model import ThreadStatus, TopicKind
from understudy.core.machine import Machine
from understudy.core.records import HIDDEN, OMIT, OMIT_EMPTY, JsonObject


class StimulusStatus(StrEnum):
    """The status of a stimulus."""

    PENDING = "pending"
    CLAIMED = "claimed"  # a daemon is about to dispatch it
    DISPATCHED = "dispatched"  # posted as a message
    COALESCED = "coalesced"  # another pending one says the same
    SUPERSEDED = "superseded"  # a newer one replaced it
    CANCELLED = "cancelled"  # expired, or over the policy's limits


_S = StimulusStatus
STIMULUS: Final = Machine(
    name="stimulus",
    domain="channels",
    conflict_code="stimulus_state_conflict",
    steps={
        _S.PENDING: frozenset({_S.CLAIMED, _S.COALESCED, _S.SUPERSEDED, _S.CANCELLED}),
        _S.CLAIMED: frozenset({_S.PENDING, _S.DISPATCHED, _S.CANCELLED}),
        _S.DISPATCHED: frozenset(),
        _S.COALESCED: frozenset(),
        _S.SUPERSEDED: frozenset(),
        _S.CANCELLED: frozenset(),
    },
)


class StimulusKind(StrEnum):
    """The kind of a stimulus."""

    AGENT_IDEA = "agent_idea"
    SCHEDULE_FIRE = "schedule_fire"
    SCHEDULE_RESULT = "schedule_result"
    TASK_COMPLETED = "task_completed"
    REVIEW_COMPLETED = "review_completed"
    SIDECHAIN_MILESTONE = "sidechain_milestone"
    OBSERVATION_MATERIALIZED = "observation_materialized"
    THREAD_IDLE_FOLLOWUP = "thread_idle_followup"
    RESULT_SUMMARY = "result_summary"
    SUPERSESSION_NOTICE = "supersession_notice"


# The status of the thread after a stimulus of this kind.
STATUS_AFTER: Final[Mapping[StimulusKind, ThreadStatus]] = {
    StimulusKind.AGENT_IDEA: ThreadStatus.PROPOSED,
    StimulusKind.SCHEDULE_FIRE: ThreadStatus.ACTIVE,
    StimulusKind.SCHEDULE_RESULT: ThreadStatus.REVIEWING,
    StimulusKind.TASK_COMPLETED: ThreadStatus.REVIEWING,
    StimulusKind.REVIEW_COMPLETED: ThreadStatus.COMPLETED,
    StimulusKind.SIDECHAIN_MILESTONE: ThreadStatus.ACTIVE,
    StimulusKind.OBSERVATION_MATERIALIZED: ThreadStatus.ACTIVE,
    StimulusKind.THREAD_IDLE_FOLLOWUP: ThreadStatus.ACTIVE,
    StimulusKind.RESULT_SUMMARY: ThreadStatus.COMPLETED,
    StimulusKind.SUPERSESSION_NOTICE: ThreadStatus.SUPERSEDED,
}
# Posted for the record: nobody is asked to answer.
SILENT: Final = frozenset({StimulusKind.RESULT_SUMMARY, StimulusKind.SUPERSESSION_NOTICE})
TOPIC_OF: Final[Mapping[StimulusKind, TopicKind]] = {StimulusKind.RESULT_SUMMARY: TopicKind.SUMMARY}
BINDINGS: Final = frozenset({"schedule_id", "run_id", "session_id", "task_id"})


@dataclass(frozen=True, slots=True, kw_only=True)
class NewStimulus:
    """The request for a stimulus."""

    scope: Literal["channel", "thread"]
    kind: StimulusKind
    content: str
    thread_root_message_id: str | None = None
    sender_actor_id: str | None = None
    sender_session_id: str | None = None
    dedupe_key: str | None = None
    progress_key: str | None = None
    available_at_ms: int | None = None
    expires_at_ms: int | None = None
    bindings: JsonObject = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stimulus:
    """A post that is to appear in a channel when it is due."""

    stimulus_id: str
    channel_id: str
    scope: Literal["channel", "thread"]
    kind: StimulusKind
    content: str
    # The member who posts it.
    sender_member_id: str
    created_by: str
    available_at_ms: int
    created_at_ms: int
    updated_at_ms: int
    thread_root_message_id: Annotated[str | None, OMIT] = None
    dedupe_key: Annotated[str | None, OMIT] = None
    progress_key: Annotated[str | None, OMIT] = None
    expires_at_ms: Annotated[int | None, OMIT] = None
    bindings: Annotated[Mapping[str, str], OMIT_EMPTY] = field(default_factory=dict)
    status: StimulusStatus = StimulusStatus.PENDING
    attempts: int = 0
    # The message that it became, or the stimulus that replaced it.
    message_id: Annotated[str | None, OMIT] = None
    replaced_by: Annotated[str | None, OMIT] = None
    last_error: Annotated[str | None, OMIT] = None
    due_at_ms: Annotated[int | None, HIDDEN] = None
    call_digest: Annotated[str | None, HIDDEN] = None
