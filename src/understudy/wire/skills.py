"""Skills on the wire: answers that differ from the records, and request bodies."""

from typing import Annotated, Any, Final, Literal, Self, TypeAlias

from pydantic import Field

from understudy.core.principal import Principal
from understudy.core.records import OMIT_EMPTY
from understudy.skills.access import AccessReason, actions_of
from understudy.skills.catalogue_entry import CatalogueEntry
from understudy.skills.model import (
    BundleSignature,
    Skill,
    SkillOrigin,
    SkillStatus,
    VersionState,
    Visibility,
)
from understudy.skills.runtime_settings import RuntimeSettings, SkillContext
from understudy.skills.usage import UsageFigures
from understudy.skills.versions import StoredSkill
from understudy.wire.base import Id, Int32, Items, Lax, Omitted, RequestBody, VersionNumber, View

# Nobody reviews more findings than this one by one.
MAX_ACKNOWLEDGED: Final = 50
MAX_USER_ID_CHARS: Final = 255
MAX_REASON_CHARS: Final = 1000
MAX_PATH_CHARS: Final = 4000
# A manifest field that is usually empty.
Unsaid: TypeAlias = Annotated[str, OMIT_EMPTY]


class SkillView(View):
    """The current state of a skill; `actions` are what the caller may do with it."""

    id: str
    slug: str
    name: str
    description: str
    origin: SkillOrigin
    owner_id: str
    visibility: Visibility
    status: SkillStatus
    enabled: bool
    # No version was accepted yet, so that nobody can use it.
    is_draft: bool
    # The number of the current version. A promoted or local skill has no stored versions: what its
    # SKILL.md calls it, or null.
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

    @classmethod
    def seen_by(cls, caller: Principal, skill: Skill, **more: Any) -> Self:
        """A skill as a caller sees it."""
        return cls.of(
            skill,
            id=skill.skill_id,
            version=skill.shown_version,
            actions=actions_of(skill, caller),
            **more,
        )


class SkillInList(SkillView):
    """A skill in a list, with its uses of all versions in the last 30 days."""

    recent_use: UsageFigures = UsageFigures()


class ReportOutcome(RequestBody):
    """How the use of a skill by an agent of another program ended."""

    outcome: Literal["succeeded", "failed"]
    """Whether the agent did what the skill is for."""
    version: VersionNumber | None = None
    """The version that was followed; the current one by default."""
    run_id: Id | None = None
    """The reporter's own id of its run: reported again, it adds nothing."""
    note: str = Field(default="", max_length=2_000)
    """What went wrong, or well."""


class SkillChanged(SkillView):
    """A skill after a change; `ok` is text, as the protocol of skills has always had it."""

    ok: Literal["true"] = "true"
    # The number of a new version that waits for a person.
    draft_version: Omitted[int] = None


class SkillToggled(SkillView):
    """A skill after it was switched on or off."""

    ok: bool = True


class SkillKept(SkillView):
    """A skill after a version was stored; `unchanged` says that it had this content already."""

    unchanged: bool
    # The number of the version, if it is a draft that waits for a person.
    draft_version: Omitted[int] = None
    deps_warning: Omitted[str] = None
    # Of an upload: who signed it.
    signature: Omitted[BundleSignature] = None

    @classmethod
    def stored(cls, caller: Principal, stored: StoredSkill, **more: Any) -> Self:
        """A skill whose version was stored, as a caller sees it."""
        return cls.seen_by(
            caller,
            stored.skill,
            unchanged=stored.unchanged,
            draft_version=stored.draft_version,
            deps_warning=stored.deps_warning,
            signature=stored.signature,
            **more,
        )


class SkillPatched(SkillKept):
    """A skill after a patch: the number of matches and of replacements."""

    matches: int
    replaced: int


class SkillDetail(SkillView):
    """A skill with its instructions."""

    instructions: str
    runtime: RuntimeSettings
    allowed_tools: list[str]
    when_to_use: Unsaid = ""
    author: Unsaid = ""
    version_label: Unsaid = ""
    license: Unsaid = ""
    compatibility: Unsaid = ""
    # The folder of its files on the daemon's machine; for admins only.
    path: Omitted[str] = None
    # Its SKILL.md, and for a promoted skill the root of all mounts.
    skill_path: Omitted[str] = None
    skill_root: Omitted[str] = None


class OfferedSkill(View):
    """A skill that an agent may use in a session, and the reason."""

    slug: str
    name: str
    description: str
    origin: SkillOrigin
    digest: str
    context: SkillContext
    reason: AccessReason
    missing_deps: list[str]
    # Why it is unusable now, if it is.
    unusable: Omitted[str] = None
    id: Omitted[str] = None
    # As in `SkillView`.
    version: int | str | None
    when_to_use: Unsaid = ""

    @classmethod
    def from_entry(cls, entry: CatalogueEntry) -> Self:
        """A skill in the catalogue of an agent."""
        return cls.of(entry, id=entry.skill_id, version=entry.shown_version)


class AgentSkillView(View):
    """A skill that is visible to the caller, and an agent's grant and access."""

    id: str
    slug: str
    name: str
    description: str
    visibility: Visibility
    version: int
    is_system: bool
    granted: bool
    allowed: bool
    # The rule that decided `allowed`.
    reason: AccessReason
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
    state: VersionState
    # Whether its owner has it while others, or an agent, wait for a person's decision.
    waiting_for_others: bool = False
    # The agent whose users get the skill when its owner or an admin accepts the version.
    grant_to: Omitted[str] = None
    # Whether its text may repeat untrusted text, and the codes of the sources.
    derived_from_untrusted: bool
    untrusted_path: Annotated[tuple[str, ...], OMIT_EMPTY] = ()
    decided_by: Omitted[str] = None
    decided_at_ms: Omitted[int] = None
    # Who signed the bundle that was uploaded.
    signature: Omitted[BundleSignature] = None


class SkillVersions(Items[SkillVersionView]):
    """Versions, newest first, and which of them is current; null where none are stored."""

    current: int | None


class SkillFile(View):
    """The content of a file; binary content is base64."""

    path: str
    size: int
    encoding: Literal["utf-8", "base64"]
    content: str


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


class AcknowledgedFinding(RequestBody):
    """A finding of the content guard that an admin acknowledges, and why."""

    rule_id: str = Field(min_length=1, max_length=100)
    """The rule that found it."""
    path: str = Field(default="SKILL.md", min_length=1, max_length=1000)
    """The file."""
    line: Int32
    """The line, from 1."""
    reason: str = Field(min_length=1, max_length=1000)
    """Why it is acceptable."""


Findings = Annotated[list[AcknowledgedFinding], Field(max_length=MAX_ACKNOWLEDGED)]


class _Guarded(RequestBody):
    acknowledged: Findings = Field(default=[])
    """Findings of the content guard that an admin acknowledges."""


class CreateSkill(_Guarded):
    """A skill of one file; the slug defaults to the front matter's, or is made from the name."""

    content: str
    """The text of SKILL.md."""
    slug: str | None = Field(default=None, max_length=200)
    """The slug; by default the front matter's, or made from the name."""


class PatchSkill(_Guarded):
    """Replace `find` by `replace` in SKILL.md.

    The first match, all of them, or with `strict` only if there is exactly one.
    """

    find: str
    """The text to find."""
    replace: str
    """The text that replaces it."""
    replace_all: bool = False
    """Replace every match, not only the first."""
    strict: bool = False
    """Replace only if there is exactly one match."""
    expected_version: Int32 | None = None
    """The version that was read; the call is refused after another change."""


class UpdateSkill(RequestBody):
    """Changes to a skill; an omitted field keeps its value, and nothing else can be changed."""

    name: str | None = None
    """The name that people see."""
    description: str | None = None
    """One sentence about the skill."""
    tags: list[str] | None = None
    """The tags; they replace the previous ones."""
    visibility: Lax[Visibility] | None = None
    """Who sees it: `private`, `internal` or `public`."""


class ToggleSkill(RequestBody):
    """Whether the skill is enabled."""

    enabled: bool
    """Whether agents may use it."""


class RestoreSkill(_Guarded):
    """The earlier version to restore, as a new one."""

    version: VersionNumber
    """The earlier version to restore."""


class RejectDraft(RequestBody):
    """The reason of a decision on a draft, for the audit."""

    reason: str = Field(default="", max_length=MAX_REASON_CHARS)
    """The reason, for the audit."""


class AcceptDraft(RejectDraft, _Guarded):
    """The acceptance of a draft as the current version."""


class AddSkillRoot(RequestBody):
    """The absolute path of a folder on the daemon's machine."""

    path: str = Field(min_length=1, max_length=MAX_PATH_CHARS)
    """The absolute path of the folder on the daemon's machine."""


class UndeleteSkill(_Guarded):
    """The restoration of a deleted skill."""


class RevokeAgent(RequestBody):
    """The agent that may no longer use a skill."""

    agent_id: str
    """The agent."""


class RevokeUser(RequestBody):
    """The user who may no longer use a skill."""

    user_id: str = Field(min_length=1, max_length=MAX_USER_ID_CHARS)
    """The user."""


class GrantAgent(RevokeAgent, _Guarded):
    """The agent that may use a skill; without a version, or with 0, always the current one."""

    version: Int32 | None = None
    """The version to stay at; without one, or with 0, always the current one."""


class GrantUser(RevokeUser):
    """The user who may use a skill."""


class InstallDependency(RequestBody):
    """One missing dependency, such as `pip:requests` or `npm:left-pad`."""

    dep: str
    """The dependency, such as `pip:requests` or `npm:left-pad`."""
