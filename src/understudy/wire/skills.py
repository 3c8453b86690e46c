"""Skills as the daemon shows them."""

from typing import Literal, TypeAlias

from understudy.wire.base import Items, Omitted, View

Visibility: TypeAlias = Literal["private", "internal", "public"]
Status: TypeAlias = Literal["active", "archived", "deleted"]
Origin: TypeAlias = Literal["system", "managed", "promoted", "local"]
Context: TypeAlias = Literal["inline", "fork"]
Reason: TypeAlias = Literal[
    "inactive", "disabled", "system", "public", "owner", "agent_grant", "user_grant", "none"
]
Encoding: TypeAlias = Literal["utf-8", "base64"]


class SkillView(View):
    """A skill as it stands; `actions` are what the caller may do with it."""

    id: str
    slug: str
    name: str
    description: str
    origin: Origin
    owner_id: str
    visibility: Visibility
    status: Status
    enabled: bool
    # The number of the version that counts. A promoted or local skill has none that are kept: what
    # its SKILL.md calls it, or null.
    version: int | str | None
    is_system: bool
    tags: list[str]
    missing_deps: list[str]
    frontmatter: dict[str, str]
    digest: str
    size: int
    created_at_ms: int
    updated_at_ms: int
    actions: list[str]


class SkillChanged(SkillView):
    """A skill after a change; `ok` is text, as the protocol of skills has always had it."""

    ok: Literal["true"] = "true"


class SkillToggled(SkillView):
    """A skill after it was switched on or off."""

    ok: bool = True


class SkillKept(SkillView):
    """A skill after a version was kept; `unchanged` says that it had this content already."""

    unchanged: bool
    deps_warning: Omitted[str] = None


class SkillPatched(SkillKept):
    """A skill after a patch: how often the text was there, and how often it was replaced."""

    matches: int
    replaced: int


class SkillRuntime(View):
    """How a skill wants to be run; what it does not say is left out."""

    context: Context
    allowed_tools: list[str]
    blocked_tools: list[str]
    agent_profile: Omitted[str] = None
    provider: Omitted[str] = None
    model: Omitted[str] = None
    fallback_model: Omitted[str] = None


class SkillDetail(SkillView):
    """A skill with what it tells an agent to do."""

    instructions: str
    runtime: SkillRuntime
    allowed_tools: list[str]
    when_to_use: Omitted[str] = None
    author: Omitted[str] = None
    version_label: Omitted[str] = None
    license: Omitted[str] = None
    compatibility: Omitted[str] = None
    # Where its files lie on the daemon's machine; only an admin is told.
    path: Omitted[str] = None
    # Its SKILL.md, and of a promoted skill the folder that all of them lie in.
    skill_path: Omitted[str] = None
    skill_root: Omitted[str] = None


class OfferedSkill(View):
    """A skill that an agent may use in a session, and why it may."""

    slug: str
    name: str
    description: str
    origin: Origin
    digest: str
    context: Context
    reason: Reason
    missing_deps: list[str]
    # Why nobody can use it now, where that is so.
    unusable: Omitted[str] = None
    id: Omitted[str] = None
    # As in `SkillView`.
    version: int | str | None
    when_to_use: Omitted[str] = None


class AgentSkillView(View):
    """A skill that the caller may know of, and what an agent has of it."""

    id: str
    slug: str
    name: str
    description: str
    visibility: Visibility
    version: int
    is_system: bool
    granted: bool
    allowed: bool
    pinned_version: Omitted[int] = None


class SkillVersionView(View):
    """One immutable version of a skill."""

    version: int
    digest: str
    size: int
    actor: str
    created_at_ms: int
    run_id: Omitted[str] = None
    restored_from: Omitted[int] = None


class SkillVersions(Items[SkillVersionView]):
    """Versions, newest first, and which of them is current; null where none are kept."""

    current: int | None


class SkillFileEntry(View):
    """A file of a skill."""

    path: str
    name: str
    is_dir: bool = False
    size: int


class SkillFile(View):
    """What is in a file; what is not text comes as base64."""

    path: str
    size: int
    encoding: Encoding
    content: str


class SkillFileDiff(View):
    """A file that differs; no `diff` for what is not text, and `cut` when not all of it is shown."""

    path: str
    change: Literal["added", "removed", "changed"]
    old_size: Omitted[int] = None
    new_size: Omitted[int] = None
    diff: Omitted[str] = None
    cut: bool


class SkillDiff(View):
    """What changed from one version to another."""

    from_version: int
    to_version: int
    from_digest: str
    to_digest: str
    files: list[SkillFileDiff]


class SkillAccess(View):
    """Whether an agent that works for a user may use a skill, in which version, and why."""

    skill_id: str
    slug: str
    allowed: bool
    reason: Reason
    version: Omitted[int] = None
    agent_id: Omitted[str] = None
    user_id: Omitted[str] = None


class GrantView(View):
    """An agent or a user that may use a skill."""

    kind: Literal["agent", "user"]
    granted_by: str
    created_at_ms: int
    agent_id: Omitted[str] = None
    user_id: Omitted[str] = None
    pinned_version: Omitted[int] = None


class SkillDeleted(View):
    """The skill is in the trash, under this name."""

    ok: Literal["true"] = "true"
    deleted: bool = True
    trash_name: str


class TrashedSkillView(View):
    """A deleted skill as it stood."""

    trash_name: str
    id: str
    slug: str
    name: str
    owner_id: str
    version: int
    deleted_by: str
    deleted_at_ms: int
