"""The tools `skill_manage` and `publish_skill`: an agent creates, patches and deletes skills."""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar

from pydantic import BaseModel, Field, model_validator

from understudy.core.clock import Clock
from understudy.core.errors import Unavailable, UnderstudyError
from understudy.core.principal import Principal, Role
from understudy.core.text import quoted
from understudy.runs.model import Run
from understudy.sessions.journal import EventKind
from understudy.sessions.refusal_audit import RefusedChange, record_refusal
from understudy.skills.access import Author, known_id
from understudy.skills.bundles.bundle import Bundle
from understudy.skills.bundles.folder import read_open_folder
from understudy.skills.dependencies.availability import missing_sentence
from understudy.skills.service import SkillService
from understudy.skills.versions import StoredSkill
from understudy.tools.base import Approval, Effect, Parameters, ToolContext, ToolError, in_thread
from understudy.tools.paths import WorkspacePath, open_directory, parse_path, readable_errors

if TYPE_CHECKING:
    from understudy.storage.unit import Unit, Units


T = TypeVar("T")

# The guard takes a while for a bundle of 20 MB.
CHANGE_TIMEOUT_S: Final = 600.0
# The role of a run's user.
RoleOf = Callable[[ToolContext], Role]
# The codes of the untrusted sources that a run has read.
UntrustedOf = Callable[[ToolContext], tuple[str, ...]]
# Whether the prompt of a run may have the rules for skills.
OfferedIn = Callable[["Unit", Run], bool]
# Whether the user of a run asked in their own words to change a skill.
AskedOf = Callable[[ToolContext, str], bool]
# A workspace file that the session did not write may contain anybody's text.
FOUND_FILE: Final = "workspace_file"
# One text for both, so that guessing slugs does not reveal private skills.
NOT_FOR_YOU: Final = frozenset({"skill_not_found", "skill_not_yours"})
# How many file names an answer lists.
MAX_LISTED: Final = 10
ACTIONS: Final = ("create", "patch", "delete")
WRITE: Final = "write_file"
PATCH: Final = "skills.patch"
# The required and the optional parameters of each action.
NEEDED: Final[Mapping[str, tuple[str, ...]]] = {
    "create": ("content",),
    "patch": ("slug", "find", "replace"),
    "delete": ("slug",),
}
OPTIONAL: Final[Mapping[str, tuple[str, ...]]] = {
    "create": ("slug",),
    "patch": ("replace_all",),
    "delete": (),
}
# An empty `replace` deletes text; an empty `content` has an error of its own.
MAY_BE_EMPTY: Final = frozenset({"replace", "content"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolChangeMaker:
    """Makes changes in the name of the user that a run works for, with that user's role."""

    service: SkillService
    units: "Units"
    clock: Clock
    role_of: RoleOf
    untrusted_of: UntrustedOf
    # Without it nothing counts as asked for.
    asked_of: AskedOf = lambda *_: False

    async def make(
        self, context: ToolContext, action: str, ref: str, change: Callable[[Author], T]
    ) -> T:
        """The result of a change; a rejection is audited, and returned to the model."""
        try:
            return await in_thread(self._make, context, action, ref, change)
        except UnderstudyError as problem:
            raise ToolError(_told(problem, ref), code=problem.code) from problem

    def _make(
        self, context: ToolContext, action: str, ref: str, change: Callable[[Author], T]
    ) -> T:
        principal = Principal(user_id=context.user_id, role=self.role_of(context))
        author = Author(
            principal=principal,
            agent_id=context.agent_id,
            run_id=context.run_id,
            untrusted=self.untrusted_of(context),
            # No other call gets here without the consent of the user.
            has_asked=action != PATCH or self.asked_of(context, ref),
        )
        try:
            return change(author)
        except Unavailable:
            # Not a rejection.
            raise
        except UnderstudyError as problem:
            refused = RefusedChange(
                principal=author.principal,
                action=action,
                ref=ref,
                error=problem,
                run_id=author.run_id,
            )
            record_refusal(
                self.units, self.clock, refused, named=lambda unit: known_id(unit, author, ref)
            )
            raise


def _told(problem: UnderstudyError, ref: str) -> str:
    if problem.code in NOT_FOR_YOU:
        return f"there is no skill {quoted(ref)} that you may change"
    return problem.detail


class SkillManageParameters(Parameters):
    """What `skill_manage` takes; an empty text counts as not given."""

    action: Literal["create", "patch", "delete"]
    slug: str = Field(default="", description="Needed to patch and delete.")
    content: str = Field(
        default="", description="create: whole SKILL.md with name and description."
    )
    find: str = Field(default="", description="patch: exact text in SKILL.md.")
    replace: str = Field(default="", description="patch: new text; may be empty.")
    replace_all: bool = Field(default=False, description="patch: every match.")

    @model_validator(mode="before")
    @classmethod
    def _names_an_action(cls, given: Any) -> Any:
        if isinstance(given, Mapping) and given.get("action") not in ACTIONS:
            raise ValueError(f"action must be one of {', '.join(ACTIONS)}")
        return given

    @model_validator(mode="after")
    def _fits_the_action(self) -> "SkillManageParameters":
        missing = [name for name in NEEDED[self.action] if not self._has(name)]
        if missing:
            raise ValueError(f"{self.action} needs {' and '.join(missing)}")
        read = {"action", *NEEDED[self.action], *OPTIONAL[self.action]}
        if unread := [name for name, value in self if value and name not in read]:
            raise ValueError(f"{self.action} does not take {', '.join(unread)}")
        return self

    def _has(self, name: str) -> bool:
        return name in self.model_fields_set and (name in MAY_BE_EMPTY or bool(getattr(self, name)))


class SkillManage:
    """Creates, patches and deletes skills of the user that the run works for."""

    name = "skill_manage"
    description = (
        "Keep a way of working as a skill: create one from a whole SKILL.md, patch one by replacing "
        "exact text, or delete one. Each change is a new version; unsafe content is refused. A new "
        "skill can be used from the next turn on."
    )
    # Not idempotent: a repeated call may change what the first one or somebody else left.
    effect = Effect.ONCE
    approval = Approval.NEVER
    parameters: type[BaseModel] = SkillManageParameters
    timeout_s: Final = CHANGE_TIMEOUT_S

    def __init__(self, maker: ToolChangeMaker, is_taught: OfferedIn = lambda *_: True) -> None:
        self._maker = maker
        self._is_taught = is_taught

    def is_offered(self, unit: "Unit", run: Run) -> bool:
        """Whether the prompt of a run may have the rules for this tool."""
        return self._is_taught(unit, run)

    async def call(self, arguments: SkillManageParameters, context: ToolContext) -> str:
        """The result of the change, and what to do next."""
        act = partial(_ACTS[arguments.action], self._maker.service, arguments)
        return await self._maker.make(context, f"skills.{arguments.action}", arguments.slug, act)


def _create(service: SkillService, wanted: SkillManageParameters, author: Author) -> str:
    stored = service.create(author, wanted.content, slug=wanted.slug or None)
    return _sentences(*_told_of(stored), missing_sentence(stored.missing))


def _patch(service: SkillService, wanted: SkillManageParameters, author: Author) -> str:
    stored = service.patch(
        author,
        wanted.slug,
        find=wanted.find,
        replace=wanted.replace,
        replace_all=wanted.replace_all,
    )
    slug, number = stored.skill.slug, stored.version.number
    if stored.unchanged:
        return (
            f"Nothing changed: skill {slug} would be as it is. It stays at version {number}; "
            "look at find and replace again."
        )
    places = "1 place" if stored.replaced == 1 else f"{stored.replaced} places"
    others = (
        f"find occurs {stored.matches} times and only the first was replaced; if you meant another, "
        "patch again with more of the text around it, or with replace_all."
        if stored.replaced < stored.matches
        else ""
    )
    changed = (
        f"Patched skill {slug} in a draft, version {number}: {places} changed. {_waits(stored)}"
        if stored.is_draft
        else f"Patched skill {slug}, now version {number}: {places} changed."
    )
    return _sentences(changed, others, _for_others(stored), missing_sentence(stored.missing))


def _delete(service: SkillService, wanted: SkillManageParameters, author: Author) -> str:
    trashed = service.delete(author, wanted.slug)
    return (
        f"Deleted skill {trashed.skill.slug} and its grants. Its versions are kept in the trash as "
        f"{trashed.trash_name}; a person can restore it."
    )


_Act = Callable[[SkillService, SkillManageParameters, Author], str]
_ACTS: Final[Mapping[str, _Act]] = {"create": _create, "patch": _patch, "delete": _delete}


class PublishSkillParameters(Parameters):
    """What `publish_skill` takes."""

    path: str = Field(description="The folder in the workspace that holds SKILL.md.")


class PublishSkill:
    """Stores a folder as a skill, or as the next version of one."""

    name = "publish_skill"
    description = (
        "Make a skill of a folder in the workspace: its SKILL.md, with front matter that has name "
        "and description, and all files beside it. Publishing it again makes a new version. All "
        "text in it is checked for unsafe content first."
    )
    # Not idempotent: a repeated call may undo a change by somebody else.
    effect = Effect.ONCE
    approval = Approval.NEVER
    parameters: type[BaseModel] = PublishSkillParameters
    timeout_s: Final = CHANGE_TIMEOUT_S

    def __init__(self, maker: ToolChangeMaker) -> None:
        self._maker = maker

    async def call(self, arguments: PublishSkillParameters, context: ToolContext) -> str:
        """The result of the change, and what to do next."""

        def publish(author: Author) -> str:
            return self._publish(author, context, arguments.path)

        return await self._maker.make(context, "skills.publish", arguments.path, publish)

    def _publish(self, author: Author, context: ToolContext, given: str) -> str:
        path = folder_in(context.workspace, given)
        with readable_errors(path), open_directory(context.place, path.parts) as folder:
            bundle, left_out = read_open_folder(folder, str(path))
        if not self._is_written(context, path, bundle):
            author = replace(author, untrusted=(*author.untrusted, FOUND_FILE))
        stored = self._maker.service.keep(author, bundle, action="skills.publish")
        files = len(bundle)
        counted = "" if stored.unchanged else f"It has {files} file{'' if files == 1 else 's'}."
        without = f"Left out as links or devices: {_listed(left_out)}." if left_out else ""
        said, more = _told_of(stored)
        return _sentences(said, counted, without, more, missing_sentence(stored.missing))

    def _is_written(self, context: ToolContext, path: WorkspacePath, bundle: Bundle) -> bool:
        """Whether the session's own calls wrote every file, byte for byte."""
        with self._maker.units.read() as unit:
            calls = unit.journal.each(context.session_id, EventKind.TOOL_CALL)
            given = [each.data.get("arguments") for each in calls if each.data["name"] == WRITE]
        written = set(map(_written, given))
        prefix = "" if str(path) == "." else f"{path}/"
        return all((f"{prefix}{name}", data) in written for name, data in bundle.items())


def _written(arguments: object) -> tuple[str, bytes] | None:
    """Path and content of a call of `write_file`; None where they cannot be read."""
    try:
        given = json.loads(str(arguments))
        return str(parse_path(given["path"])), given["content"].encode()
    except (ValueError, TypeError, KeyError, AttributeError, ToolError):
        return None


def folder_in(workspace: Path, given: str) -> WorkspacePath:
    """The folder of a path; an absolute path must begin with the workspace.

    Shells print absolute paths. The rest is parsed by the same rules as any path.
    """
    for top in (str(workspace), os.path.realpath(workspace)):
        if given == top:
            return parse_path(".")
        if given.startswith(f"{top}/"):
            return parse_path(given[len(top) + 1 :].lstrip("/") or ".")
    return parse_path(given)


def _told_of(stored: StoredSkill) -> tuple[str, str]:
    """The texts about what was stored, and about the next step."""
    if stored.is_draft:
        return _stored(stored), _waits(stored)
    return _stored(stored), _sentences(_granted(stored), _for_others(stored))


def _waits(stored: StoredSkill) -> str:
    return (
        f"Nobody uses it until a person accepts it in the inbox: {_why(stored)}. Tell your user so."
    )


def _why(stored: StoredSkill) -> str:
    path = ", ".join(stored.version.untrusted_path)
    return f"what this session read may be in it ({path})" if path else "others may use the skill"


def _for_others(stored: StoredSkill) -> str:
    """What waits for a person before others get a version that the user has; empty if nothing does."""
    version = stored.version
    if not version.waiting_for_others:
        return ""
    why = f" ({_why(stored)})" if version.for_owner_only else ""
    if version.grant_to is None:
        return f"Others get it once a person accepts it in the inbox{why}. Tell your user so."
    return (
        f"Everybody else who uses the agent {version.grant_to} gets it once the agent's owner or an "
        f"admin accepts it in their inbox{why}. Tell your user so."
    )


def _stored(stored: StoredSkill) -> str:
    skill, number = stored.skill, stored.version.number
    if stored.unchanged:
        # The grant may be new, so this does not say that nothing changed.
        return f"The content of skill {skill.slug} was this very one already, in version {number}."
    if stored.is_draft:
        return f"Kept version {number} of skill {skill.slug} ({quoted(skill.name)}) as a draft."
    verb = "Created" if number == 1 else "Kept a new version of"
    return f"{verb} skill {skill.slug} ({quoted(skill.name)}), version {number}."


def _granted(stored: StoredSkill) -> str:
    if not stored.granted:
        return (
            "It is your user's alone, with every agent: from their next turn on, call use_skill with "
            f"{stored.skill.slug}."
        )
    return f"It is granted to you; from your next turn on, call use_skill with {stored.skill.slug}."


def _listed(names: Sequence[str]) -> str:
    more = len(names) - MAX_LISTED
    listed = ", ".join(quoted(name) for name in names[:MAX_LISTED])
    return f"{listed} and {more} more" if more > 0 else listed


def _sentences(*sentences: str) -> str:
    return " ".join(filter(None, sentences))
