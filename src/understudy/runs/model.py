"""The records of a run, its snapshot included: what a resumed run goes by."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, TypeAlias

from pydantic import BeforeValidator

from understudy.core.errors import coded_error
from understudy.core.principal import Role
from understudy.core.records import OMIT, Count
from understudy.i18n.locales import DEFAULT, locale_of
from understudy.permissions.model import CallRule
from understudy.sessions.model import ReplyTarget

if TYPE_CHECKING:
    from understudy.storage.unit import Unit

# Where a run comes from that only tries something out: there is nobody to ask, nothing to remember.
TRIAL_SOURCE: Final = "trial"
# The source plugin and kind of runs that a schedule submits.
SCHEDULE_SOURCE: Final = ("schedules", "schedule")
GivenAs: TypeAlias = Literal["inline", "attachment", "briefing"]
# How a text is given that the daemon puts before the words of whoever asked: nobody typed it.
BRIEFING: Final = "briefing"


class RunKind(StrEnum):
    """Why a run exists."""

    INPUT = "input"
    GOAL_CONTINUATION = "goal_continuation"
    SCHEDULED_INPUT = "scheduled_input"
    OBSERVATION_MATERIALIZATION = "observation_materialization"
    SCHEDULED_OBSERVATION_MATERIALIZATION = "scheduled_observation_materialization"
    MAILBOX_DELIVERY = "mailbox_delivery"
    CHANNEL_DELIVERY = "channel_delivery"
    PARENT_CLARIFICATION = "parent_clarification"
    APPROVAL_RESUME = "approval_resume"
    USER_QUESTION_RESUME = "user_question_resume"


class RunStatus(StrEnum):
    """Where a run stands."""

    QUEUED = "queued"
    RUNNING = "running"
    WAITING_FOR_APPROVAL = "waiting_for_approval"
    WAITING_FOR_USER_QUESTION = "waiting_for_user_question"
    COMPLETED = "completed"
    FAILED = "failed"
    INTERRUPTED = "interrupted"
    CANCELLED = "cancelled"


class RunTrace(StrEnum):
    """Something that a run may have left elsewhere, and that its end may concern."""

    # A request that is still open.
    REQUEST = "request"
    PROJECT_TASK = "project_task"
    FLOW = "flow"
    # A run of another session made its session.
    SPAWN = "spawn"
    ARTIFACT = "artifact"
    CANDIDATE = "candidate"
    SKILL_USE = "skill_use"
    # There is a session above its own.
    PARENT = "parent"
    # A session below its own asks it something.
    QUESTION = "question"


class StopRequest(StrEnum):
    """How somebody asked a run to stop."""

    CANCEL = "cancel"
    INTERRUPT = "interrupt"


class DebugLevel(StrEnum):
    """How much of the provider traffic is kept, always redacted."""

    OFF = "off"
    REQUESTS = "requests"
    FULL = "full"


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """Where the model calls of a run go, decided once when it was submitted."""

    route_id: str
    model: str
    generation: Mapping[str, Any] = field(default_factory=dict)
    # Asked in its place whenever that one does not answer.
    fallback_model: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """Who asked, through what, for which route."""

    source_plugin: str = "daemon"
    source_kind: str = "api"
    actor_id: str = "api-user"
    text_preview: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class InputItem:
    """One part of an input, in order. `type` is text or asset_reference."""

    type: str
    text: str | None = None
    asset_id: str | None = None
    file_name: str | None = None
    media_type: str | None = None
    size: int | None = None
    # How a file came, which only matters to whoever tells of it; None: it was referred to. A text
    # is either what was asked, or a briefing.
    given_as: GivenAs | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunInput:
    """What a run is to work on."""

    items: tuple[InputItem, ...]
    metadata: Mapping[str, Any] | None = None

    @property
    def text(self) -> str:
        """The text parts that were asked, joined by a line break; no briefing."""
        return "\n".join(
            item.text for item in self.items if item.text is not None and item.given_as != BRIEFING
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RunUsage:
    """Tokens and calls a run consumed."""

    input_tokens: Count = 0
    output_tokens: Count = 0
    cache_read_tokens: Count = 0
    model_calls: Count = 0
    tool_calls: Count = 0


class DeliveryStatus(StrEnum):
    """Where a delivery stands."""

    PENDING = "pending"  # the run goes on, or the target is tried again later
    DELIVERED = "delivered"
    DEAD = "dead"  # given up; an operator may have it tried again
    SKIPPED = "skipped"  # the run ended before it began: there is nothing to deliver


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """How the output of a run fared on its way to one reply target."""

    plugin: str
    address: str
    status: str
    attempts: int
    # Only what is sent has an id, and the rest.
    delivery_id: Annotated[str | None, OMIT] = None
    next_attempt_at_ms: Annotated[int | None, OMIT] = None
    delivered_at_ms: Annotated[int | None, OMIT] = None
    last_error: Annotated[str | None, OMIT] = None
    # The background task whose end it tells, where it is not that of the run.
    task_id: Annotated[str | None, OMIT] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One execution request in a session."""

    run_id: str
    session_id: str
    agent_id: str
    user_id: str
    kind: RunKind
    status: RunStatus
    submitted_at_ms: int
    updated_at_ms: int
    request: RunRequest
    input: RunInput
    route: Route
    accepted_offset: int = 0
    started_at_ms: int | None = None
    finished_at_ms: int | None = None
    # What whoever submitted it could do then.
    role: Role = Role.OPERATOR
    max_tool_iterations: int | None = None
    debug_level: DebugLevel = DebugLevel.OFF
    # The language of what the daemon itself says in it; older versions stored none.
    locale: Annotated[str, BeforeValidator(locale_of)] = DEFAULT
    reply_targets: tuple[ReplyTarget, ...] = ()
    # Whether they were named for this run; else they are the defaults that the session had then.
    has_own_targets: bool = False
    # Which definition of a promoted skill it carries out, if it does: only the daemon says so.
    skill_fingerprint: str | None = None
    # Tools that it is denied, beside what rules say; the sidechains it makes are denied them too.
    denied: tuple[CallRule, ...] = ()
    # The trial or replay that its session is a part of; None in real life.
    trial_id: str | None = None
    deliveries: tuple[Delivery, ...] = ()
    error: str | None = None
    usage: RunUsage = field(default_factory=RunUsage)
    stop_request: StopRequest | None = None
    # Which execution of the run is the current one; an older one may write nothing more.
    attempt: int = 0
    # Crashes in a row during which no step was finished, and how many steps were done by then.
    crashes: int = 0
    progress: int = 0
    # Whether nothing went wrong when it was last left: the daemon stopped in good order, or it slept.
    parked: bool = False
    # Whether it rests until somebody wakes it: the engine holds no work for it meanwhile.
    asleep: bool = False
    # How often it was woken, and whether that was tried while it was still awake.
    wakes: int = 0
    nudged: bool = False

    @property
    def work_id(self) -> str:
        """What the engine calls its work on this run; each waking is new work."""
        return work_id(self.run_id, self.wakes)


def model_call_key(run_id: str, step: object) -> str:
    """The key of a model call among the journal events of its session."""
    return f"{run_id}:model:{step}"


def work_id(run_id: str, wakes: int) -> str:
    """What the engine calls its work on a run."""
    return f"{run_id}.{wakes}" if wakes else run_id


@dataclass(frozen=True, slots=True, kw_only=True)
class DebugRequest:
    """A provider request as it was sent, scrubbed."""

    # The store gives the id, so that a capture can be named as evidence.
    artifact_id: str = ""
    run_id: str
    step: int
    attempt: int
    at_ms: int
    request: Mapping[str, Any]
    response: Annotated[Mapping[str, Any] | None, OMIT] = None

    @property
    def last_user_text(self) -> str:
        """The text of the last user message."""
        messages = self.request.get("messages") or ()
        contents = (it.get("content") for it in reversed(messages) if it.get("role") == "user")
        content = next(contents, "")
        if isinstance(content, str):
            return content
        return "\n".join(part["text"] for part in content if part.get("type") == "text")


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """That a key was used, for what, and what came of it."""

    key_hash: str
    fingerprint: str
    resource_id: str
    created_at_ms: int


def require_run(unit: "Unit", run_id: str, *, lock: bool = False) -> Run:
    """The run, or `NotFound`."""
    run = unit.runs.get(run_id, lock=lock)
    if run is None:
        raise coded_error("runs/run_not_found", run_id=run_id)
    return run


# Told of a run that has ended, within the transaction that ends it.
EndingHook = Callable[["Unit", Run], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEnd:
    """How the work of a run ended."""

    status: RunStatus
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunReports:
    """How the prompt of a run came about; kept when the run has ended.

    None where the run began under a version that did not write it down.
    """

    # The injection report: which memories the prompt was told of.
    memory: Mapping[str, Any] | None = None
    # Which skills were offered, and which of them were listed.
    skills: Mapping[str, Any] | None = None
    # The switches that the run goes by, its language, and the version of SOUL.md.
    evolution: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSnapshot:
    """What the prompt of a run is built from; only the reports are left once the run has ended."""

    system: str
    tools: tuple[str, ...]
    max_steps: int
    # The history is what the journal holds from this offset on, up to the input of the run.
    history_from: int
    input_offset: int
    # Older versions wrote none of these down.
    # Patterns of the tools that the model is not told of.
    withheld: tuple[str, ...] = ()
    # The offset of the checkpoint that stands for what is older.
    checkpoint: int | None = None
    # Where in the workspace the session works.
    workdir: str | None = None
    reports: RunReports = field(default_factory=RunReports)
