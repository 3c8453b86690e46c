"""WebSocket frames, and the parameters and results of each method."""

from typing import Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from understudy.core.principal import Role
from understudy.runtime.two_people import WaitingForSecond
from understudy.skills.model import SkillOrigin, SkillStatus, Visibility
from understudy.wire.base import Int32, Omitted, RequestBody, View
from understudy.wire.skills import UpdateSkill

PROTOCOL = 3
MAX_ID_CHARS = 128
MAX_METHOD_CHARS = 100

FrameId: TypeAlias = str | int | None
ErrorCode: TypeAlias = Literal[
    "INVALID_REQUEST",
    "UNAUTHORIZED",
    "NOT_FOUND",
    "RESOURCE_EXHAUSTED",
    "FAILED_PRECONDITION",
    "INTERNAL",
    "UNAVAILABLE",
]


class RequestFrame(BaseModel):
    """The request of a client."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    type: Literal["req"]
    id: str | int
    method: str = Field(min_length=1, max_length=MAX_METHOD_CHARS)
    params: dict[str, Any] | None = None


class FrameError(View):
    """Why a request failed; `details` has the domain and code that HTTP would return."""

    code: ErrorCode
    message: str
    details: dict[str, Any]
    retryable: bool
    retryAfterMs: Omitted[int] = None  # noqa: N815 - as the protocol spells it


class ConnectParams(RequestBody):
    """The credentials of the caller.

    There are no paired devices and no tenants here, so `sender_id` and `tenant_hint` have no
    effect, and a `tenant_id` is refused.
    """

    token: str | None = Field(default=None, max_length=1000)
    """The token of the caller."""
    user_id: str | None = None
    """The user, where the daemon needs no token."""
    locale: str | None = Field(default=None, max_length=100)
    """The language of the daemon's own texts."""
    sender_id: str | None = None
    """Has no effect."""
    tenant_id: str | None = None
    """Refused: there are no tenants."""
    tenant_hint: str | None = None
    """Has no effect."""


class ServerHello(View):
    """The server's name and version."""

    name: str
    version: str


class Connected(View):
    """The authenticated caller."""

    protocol: int = PROTOCOL
    role: Role
    user_id: str
    tenant_id: str | None = None
    cross_tenant: bool = False
    server: ServerHello


class ListSkillsParams(RequestBody):
    """The cursor and the limit of a list."""

    limit: Int32 | None = None
    """The most skills of a page."""
    cursor: str | None = None
    """The cursor of an earlier page."""


class GetSkillParams(RequestBody):
    """The slug, id or display name of a skill."""

    name: str = Field(min_length=1)
    """The slug, id or name of the skill."""


class UpdateSkillParams(RequestBody):
    """A skill by its slug or id, and the changes."""

    name: str | None = None
    """The slug of the skill, instead of `id`."""
    id: str | None = None
    """The id of the skill."""
    updates: UpdateSkill
    """The changes."""


class NamedSkill(View):
    """The fields of a skill in every answer; `source` is its origin."""

    id: str
    slug: str
    name: str
    description: str
    source: SkillOrigin
    version: int
    visibility: Visibility
    tags: list[str]
    is_system: bool
    enabled: bool
    status: SkillStatus
    author: Omitted[str] = None
    missing_deps: list[str]


class ListedSkills(View):
    """A page of skills by name, and the cursor of the next one if there is one."""

    skills: list[NamedSkill]
    next_cursor: Omitted[str] = None


class SkillContent(NamedSkill):
    """A skill with its instructions, which are SKILL.md without the front matter."""

    content: str


class SkillUpdated(View):
    """The result of an update: done, or waiting for a second approval.

    `ok` is text, as the protocol of skills has always had it.
    """

    ok: Literal["true", "false"] = "true"
    waiting: Omitted[WaitingForSecond] = None


class ListFilesParams(RequestBody):
    """An agent."""

    agentId: str = Field(min_length=1, max_length=200)  # noqa: N815 - as the protocol spells it
    """The agent."""


class GetFileParams(ListFilesParams):
    """A context file of an agent."""

    name: str = Field(min_length=1, max_length=200)
    """The name of the file."""


class SetFileParams(GetFileParams):
    """The new content, and whether users' own copies get it too."""

    content: str
    """The new content."""
    propagate: bool = False
    """Whether users' own copies get it too."""


class FileState(View):
    """One of the files that an agent may have; without its content in a list."""

    name: str
    missing: bool
    size: int
    content: Omitted[str] = None


class ListedFiles(View):
    """Every file that an agent may have."""

    agentId: str  # noqa: N815
    files: list[FileState]


class AgentFile(View):
    """One context file of an agent."""

    agentId: str  # noqa: N815
    file: FileState


class AgentFileSet(AgentFile):
    """The file after the change, and how many users' copies changed with it."""

    propagated: int
