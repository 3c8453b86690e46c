"""The tool by which an agent keeps what it learned as a skill, and mends or removes it later."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final, Literal

from pydantic import BaseModel, Field, model_validator

from understudy.skills.author import Author
from understudy.skills.service import SkillService
from understudy.skills.tools.answers import created, deleted, patched
from understudy.skills.tools.changes import CHANGE_TIMEOUT_S, ToolChangeMaker
from understudy.tools.base import Approval, Effect, Parameters, ToolContext

ACTIONS: Final = ("create", "patch", "delete")
# What each action cannot do without, and what else it reads.
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
# Taking text out is a patch, too; and what is wrong with an empty SKILL.md is told elsewhere.
MAY_BE_EMPTY: Final = frozenset({"replace", "content"})


class SkillManageParameters(Parameters):
    """What `skill_manage` takes; an empty text counts as not given."""

    action: Literal["create", "patch", "delete"]
    slug: str = Field(default="", description="Needed to patch and delete.")
    content: str = Field(
        default="", description="create: the whole SKILL.md with front matter (name, description)."
    )
    find: str = Field(default="", description="patch: exact text in SKILL.md.")
    replace: str = Field(default="", description="patch: what to put there; may be empty.")
    replace_all: bool = Field(default=False, description="patch: every match, not only the first.")

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
        "exact text, or delete one. Each change is a new version, and every text is checked for "
        "unsafe content first. A new skill is yours to use from the next turn on."
    )
    # A repeat may be another change: of what the first left, or of what somebody did since.
    effect = Effect.ONCE
    approval = Approval.NEVER
    parameters: type[BaseModel] = SkillManageParameters
    timeout_s: Final = CHANGE_TIMEOUT_S

    def __init__(self, maker: ToolChangeMaker) -> None:
        self._maker = maker

    async def call(self, arguments: SkillManageParameters, context: ToolContext) -> str:
        """What there is now, and what to do next."""
        act = partial(_ACTS[arguments.action], self._maker.service, arguments)
        return await self._maker.make(context, f"skills.{arguments.action}", arguments.slug, act)


def _create(service: SkillService, wanted: SkillManageParameters, author: Author) -> str:
    return created(service.create(author, wanted.content, slug=wanted.slug or None))


def _patch(service: SkillService, wanted: SkillManageParameters, author: Author) -> str:
    kept = service.patch(
        author,
        wanted.slug,
        find=wanted.find,
        replace=wanted.replace,
        replace_all=wanted.replace_all,
    )
    return patched(kept)


def _delete(service: SkillService, wanted: SkillManageParameters, author: Author) -> str:
    return deleted(service.delete(author, wanted.slug))


_Act = Callable[[SkillService, SkillManageParameters, Author], str]
_ACTS: Final[Mapping[str, _Act]] = {"create": _create, "patch": _patch, "delete": _delete}
