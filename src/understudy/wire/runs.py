"""Runs on the wire."""

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Discriminator, Field, Tag

from understudy.runs.model import Delivery, RunStatus
from understudy.runs.remembered import Remembered
from understudy.wire.approvals import ApprovalView, QuestionView
from understudy.wire.base import DebugLevel, Int32, JsonObject, Omitted, RequestBody, View
from understudy.wire.generation import Generation
from understudy.wire.replies import OutputView, ReplyTargetBody


class TextItem(RequestBody):
    """A piece of text."""

    type: Literal["text"]
    """`text`."""
    text: str
    """The text."""


class AssetReferenceItem(RequestBody):
    """An asset that was uploaded before."""

    type: Literal["asset_reference"]
    """`asset_reference`."""
    asset_id: str = Field(max_length=500)
    """The asset."""


class InlineFile(RequestBody):
    """A file with its content; it becomes an asset."""

    file_name: str = Field(min_length=1, max_length=4096)
    """The name of the file."""
    media_type: str | None = Field(default=None, max_length=255)
    """The media type; by default it is detected."""
    content_base64: str
    """The bytes in base64."""


class InlineAssetItem(InlineFile):
    """A file sent along."""

    type: Literal["inline_asset"]
    """`inline_asset`."""


class AttachedAsset(RequestBody):
    """An asset that was uploaded before."""

    asset_id: str = Field(max_length=500)
    """The asset."""


class BoardReferenceItem(RequestBody):
    """A board: a known kind of item that is refused."""

    type: Literal["board_reference"]
    """`board_reference`."""
    board_id: str
    """The board."""
    revision_id: str | None = None
    """The revision of the board."""


InputItem: TypeAlias = Annotated[
    TextItem | AssetReferenceItem | InlineAssetItem | BoardReferenceItem,
    Field(discriminator="type"),
]


def _shape(given: Any) -> str:
    """The form of an attachment, so that errors are about that form only."""
    if isinstance(given, str):
        return "id"
    named = given if isinstance(given, dict) else getattr(type(given), "model_fields", ())
    return "asset" if "asset_id" in named else "file"


Attachment: TypeAlias = Annotated[
    Annotated[str, Tag("id")]
    | Annotated[AttachedAsset, Tag("asset")]
    | Annotated[InlineFile, Tag("file")],
    Discriminator(_shape),
]


class SubmitInput(RequestBody):
    """The input of a run, and its options. Either `content` (with attachments) or `input_items`."""

    content: str = ""
    """The text of the input."""
    input_items: list[InputItem] = Field(default_factory=list, max_length=256)
    """Texts and assets, instead of `content` and `attachments`."""
    attachments: list[Attachment] = Field(default_factory=list, max_length=256)
    """Ids of assets, `{"asset_id": …}`, or files with their content."""
    provider: str | None = None
    """The route of the run."""
    generation: Generation | None = None
    """Settings of its model calls."""
    source_plugin: str | None = Field(default=None, max_length=200)
    """The program that submits it."""
    source_kind: str | None = Field(default=None, max_length=200)
    """The kind of that source."""
    actor_id: str | None = Field(default=None, max_length=200)
    """The person who asks; by default the caller."""
    metadata: Any = None
    """Data of the caller, stored with the run."""
    reply_targets: list[ReplyTargetBody] | None = Field(default=None, max_length=32)
    """Where the output is delivered."""
    reply_plugin: str | None = None
    """One target's plugin, instead of `reply_targets`."""
    reply_address: str | None = None
    """One target's address, with `reply_plugin`."""
    max_tool_iterations: Int32 | None = None
    """The most rounds of tool calls."""
    debug_level: DebugLevel | None = None
    """What of the model calls is stored: `off`, `requests` or `full`."""
    locale: str | None = Field(default=None, max_length=64)
    """The language of the daemon's own texts: `en`, `vi` or `zh`; by default `en`."""
    idempotency_key: str | None = None
    """A repeat with the same key submits nothing more."""
    binding_keys: list[str] = Field(default_factory=list, max_length=256)
    """Keys to bind to this session; one that another session has is a conflict."""
    completion_requirements: Any = None
    """Has to be empty: the contract of a playbook checks requirements."""


class RunRequestView(View):
    """The origin of a run, and its pinned route and model."""

    source_plugin: str
    source_kind: str
    actor_id: str
    text_preview: Omitted[str] = None
    provider: Omitted[str] = None
    model: Omitted[str] = None
    approval_count: Omitted[int] = None
    question_count: Omitted[int] = None
    traceparent: Omitted[str] = None
    """The trace of the request that submitted it."""


class UsageView(View):
    """Tokens and calls a run consumed."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    model_calls: int = 0
    tool_calls: int = 0


class RunCounts(View):
    """How many runs have each status; a status that no run has counts 0."""

    total: int
    statuses: dict[RunStatus, int]


class RunView(View):
    """The current state of a run."""

    run_id: str
    session_id: str
    agent_id: str
    user_id: str
    kind: str
    status: RunStatus
    submitted_at_ms: int
    updated_at_ms: int
    started_at_ms: Omitted[int] = None
    finished_at_ms: Omitted[int] = None
    queued_position: Omitted[int] = None
    locale: str = "en"
    request: RunRequestView
    input_attachments: list[str] = Field(default_factory=list)
    input_metadata: Omitted[JsonObject] = None
    pending_approval_ids: list[str] = Field(default_factory=list)
    pending_approvals: list[ApprovalView] = Field(default_factory=list)
    pending_question_ids: list[str] = Field(default_factory=list)
    pending_questions: list[QuestionView] = Field(default_factory=list)
    outputs: list[OutputView] = Field(default_factory=list)
    # The learnings and run memories in its prompt that the caller may see.
    remembered: list[Remembered] = Field(default_factory=list)
    deliveries: list[Delivery] = Field(default_factory=list)
    error: Omitted[str] = None
    usage: UsageView = Field(default_factory=UsageView)
    # How much of the provider traffic is captured; see `/v1/runs/{id}/debug`.
    debug_level: DebugLevel = "off"
    # The definition of a promoted skill that it executes, if any.
    skill_fingerprint: Omitted[str] = None
    # The trial or replay of its session.
    trial_id: Omitted[str] = None
    actions: list[str] = Field(default_factory=list)
