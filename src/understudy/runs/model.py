"""The records of a run, including the snapshot that a resumed run continues from."""

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

# The source of trial runs: there is nobody to ask, and nothing to remember.
TRIAL_SOURCE: Final = "trial"
# The source plugin and kind of runs that a schedule submits.
SCHEDULE_SOURCE: Final = ("schedules", "schedule")
# The same of runs that come in by the wire of OpenAI.
OPENAI_SOURCE: Final = ("openai", "api")
GivenAs: TypeAlias = Literal["inline", "attachment", "briefing"]
# Marks text that the daemon puts before the request; nobody typed it.
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
    # Reported by the client of an agent that we do not run; it has ended when it is stored.
    FOREIGN_TURN = "foreign_turn"


class RunStatus(StrEnum):
    """The status of a run."""

    QUEUED = "queued"
    RUNNING = "running"
    WAITING_FOR_APPROVAL = "waiting_for_approval"
    WAITING_FOR_USER_QUESTION = "waiting_for_user_question"
    COMPLETED = "completed"
    FAILED = "failed"
    INTERRUPTED = "interrupted"
    CANCELLED = "cancelled"


class RunTrace(StrEnum):
    """A table with rows of a run that its end may concern."""

    # A pending request.
    REQUEST = "request"
    PROJECT_TASK = "project_task"
    FLOW = "flow"
    # Its session is a sidechain that another run spawned.
    SPAWN = "spawn"
    ARTIFACT = "artifact"
    CANDIDATE = "candidate"
    SKILL_USE = "skill_use"
    # Its session has a parent.
    PARENT = "parent"
    # A sidechain has a pending question to its session.
    QUESTION = "question"


class StopRequest(StrEnum):
    """The kind of a stop request."""

    CANCEL = "cancel"
    INTERRUPT = "interrupt"


class DebugLevel(StrEnum):
    """How much of the provider traffic is captured, always redacted."""

    OFF = "off"
    REQUESTS = "requests"
    FULL = "full"


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """Where the model calls of a run go, decided once when it was submitted."""

    route_id: str
    model: str
    generation: Mapping[str, Any] = field(default_factory=dict)
    # Used whenever the model of the route does not answer.
    fallback_model: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """The origin of a run: who asked, by which plugin, for which route."""

    source_plugin: str = "daemon"
    source_kind: str = "api"
    actor_id: str = "api-user"
    text_preview: str | None = None
    # The trace of the request that submitted it, by W3C's header.
    traceparent: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class InputItem:
    """One part of an input, in order. `type` is text or asset_reference."""

    type: str
    text: str | None = None
    asset_id: str | None = None
    file_name: str | None = None
    media_type: str | None = None
    size: int | None = None
    # How a file was given, for display; None: by reference. A text is either the request or a
    # briefing.
    given_as: GivenAs | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunInput:
    """The input of a run."""

    items: tuple[InputItem, ...]
    metadata: Mapping[str, Any] | None = None

    @property
    def text(self) -> str:
        """The text of the request, joined by line breaks, without briefings."""
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
    """The status of a delivery."""

    PENDING = "pending"  # the run is unfinished, or the next attempt is due later
    DELIVERED = "delivered"
    DEAD = "dead"  # given up; an operator may retry it
    SKIPPED = "skipped"  # the run ended before it began: there is nothing to deliver


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """The delivery of a run's output to one reply target."""

    plugin: str
    address: str
    status: str
    attempts: int
    # Only queued deliveries have the fields below.
    delivery_id: Annotated[str | None, OMIT] = None
    next_attempt_at_ms: Annotated[int | None, OMIT] = None
    delivered_at_ms: Annotated[int | None, OMIT] = None
    last_error: Annotated[str | None, OMIT] = None
    # The background task whose end it reports; None for the run itself.
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
    # The role of the submitter at that time.
    role: Role = Role.OPERATOR
    max_tool_iterations: int | None = None
    debug_level: DebugLevel = DebugLevel.OFF
    # The language of the daemon's own texts in the run; earlier versions stored none.
    locale: Annotated[str, BeforeValidator(locale_of)] = DEFAULT
    reply_targets: tuple[ReplyTarget, ...] = ()
    # Whether the run's own request named them; else they are the session's defaults of that time.
    has_own_targets: bool = False
    # The definition of a promoted skill that it executes; set by the daemon only.
    skill_fingerprint: str | None = None
    # Tools that it is denied beyond the rules; its sidechains inherit this.
    denied: tuple[CallRule, ...] = ()
    # The trial or replay of its session; None for a real run.
    trial_id: str | None = None
    deliveries: tuple[Delivery, ...] = ()
    error: str | None = None
    usage: RunUsage = field(default_factory=RunUsage)
    stop_request: StopRequest | None = None
    # The number of the current execution; an older one may not write any more.
    attempt: int = 0
    # Consecutive crashes without a finished step, and the number of steps done by then.
    crashes: int = 0
    progress: int = 0
    # Whether the last execution ended in order: by an orderly shutdown, or by going to sleep.
    parked: bool = False
    # Whether it sleeps until it is woken; the engine has no work for it meanwhile.
    asleep: bool = False
    # How often it was woken, and whether a wake-up arrived while it was still awake.
    wakes: int = 0
    nudged: bool = False

    @property
    def client(self) -> str | None:
        """The program that reported it, for a turn of an agent that we do not run."""
        return self.request.source_plugin if self.kind is RunKind.FOREIGN_TURN else None

    @property
    def work_id(self) -> str:
        """The id of the engine's work on this run; each wake-up is new work."""
        return work_id(self.run_id, self.wakes)


def model_call_key(run_id: str, step: object) -> str:
    """The journal key of a model call."""
    return f"{run_id}:model:{step}"


def work_id(run_id: str, wakes: int) -> str:
    """The id of the engine's work on a run."""
    return f"{run_id}.{wakes}" if wakes else run_id


@dataclass(frozen=True, slots=True, kw_only=True)
class DebugRequest:
    """A provider request as it was sent, scrubbed."""

    # The store assigns the id, so that a capture can be named as evidence.
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
    """An idempotency receipt: the key, the fingerprint of the request, and the resource it made."""

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


# Called in the transaction that ends a run.
EndingHook = Callable[["Unit", Run], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEnd:
    """The outcome of the work on a run."""

    status: RunStatus
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunReports:
    """The reports on how the prompt of a run was built; kept after its end.

    None where the run began under an earlier version without reports.
    """

    # The injection report: the memories in the prompt.
    memory: Mapping[str, Any] | None = None
    # The skills that were offered, and those that were listed.
    skills: Mapping[str, Any] | None = None
    # The agent's switches at the start, the language, and the version of SOUL.md.
    evolution: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSnapshot:
    """The inputs of a run's prompt; only the reports are kept after its end."""

    system: str
    tools: tuple[str, ...]
    max_steps: int
    # The history starts at this journal offset, and ends before the input of the run.
    history_from: int
    input_offset: int
    # Earlier versions stored none of these. Patterns of the tools that the model is not told of.
    withheld: tuple[str, ...] = ()
    # The offset of the checkpoint that replaces older events.
    checkpoint: int | None = None
    # Working directory of the session within the workspace.
    workdir: str | None = None
    reports: RunReports = field(default_factory=RunReports)
