"""What callers send about skills."""

from typing import Annotated

from pydantic import Field

from understudy.wire.base import Int32, RequestBody, VersionNumber
from understudy.wire.skills import Visibility

# More findings than this nobody has looked at one by one.
MAX_ACKNOWLEDGED = 50
MAX_USER_ID_CHARS = 255


class AcknowledgedFinding(RequestBody):
    """A finding of the content guard that an admin takes upon themselves, and why."""

    rule_id: str = Field(min_length=1, max_length=100)
    path: str = Field(default="SKILL.md", min_length=1, max_length=1000)
    line: Int32
    reason: str = Field(min_length=1, max_length=1000)


Findings = Annotated[list[AcknowledgedFinding], Field(max_length=MAX_ACKNOWLEDGED)]


class _Guarded(RequestBody):
    acknowledged: Findings = Field(default=[])


class CreateSkill(_Guarded):
    """A skill of one file; without a slug it is in the front matter, or made from the name."""

    content: str
    slug: str | None = Field(default=None, max_length=200)


class PatchSkill(_Guarded):
    """Put `replace` in the place of `find` in SKILL.md: its first place, all of them, or with
    `strict` only where there is just one."""

    find: str
    replace: str
    replace_all: bool = False
    strict: bool = False
    expected_version: Int32 | None = None


class UpdateSkill(RequestBody):
    """Changes to a skill; what is left out keeps its value, and nothing else can be changed."""

    name: str | None = None
    description: str | None = None
    tags: list[str] | None = None
    visibility: Visibility | None = None


class ToggleSkill(RequestBody):
    """Whether the skill is offered at all."""

    enabled: bool


class RestoreSkill(_Guarded):
    """Which earlier version to bring back, as a new one."""

    version: VersionNumber


class UndeleteSkill(_Guarded):
    """How a deleted skill comes back."""


class RevokeAgent(RequestBody):
    """The agent that may no longer use a skill."""

    agent_id: str


class RevokeUser(RequestBody):
    """The user who may no longer use a skill."""

    user_id: str = Field(min_length=1, max_length=MAX_USER_ID_CHARS)


class GrantAgent(RevokeAgent, _Guarded):
    """The agent that may use a skill; without a version, or with 0, always the current one."""

    version: Int32 | None = None


class GrantUser(RevokeUser):
    """The user who may use a skill."""


class InstallDependency(RequestBody):
    """One thing that skills miss, such as `pip:requests` or `npm:left-pad`."""

    dep: str
