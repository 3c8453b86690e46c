"""The tool by which an agent makes a skill of a folder in the workspace."""

import os
from pathlib import Path
from typing import Final

from pydantic import BaseModel, Field

from understudy.skills.author import Author
from understudy.skills.bundles.folder import read_open_folder
from understudy.skills.tools.answers import published
from understudy.skills.tools.changes import CHANGE_TIMEOUT_S, ToolChangeMaker
from understudy.tools.base import Approval, Effect, Parameters, ToolContext
from understudy.tools.paths import WorkspacePath, open_directory, parse_path, readable_errors


class PublishSkillParameters(Parameters):
    """What `publish_skill` takes."""

    path: str = Field(description="The folder in the workspace that holds SKILL.md.")


class PublishSkill:
    """Keeps a folder as a skill, or as the next version of one."""

    name = "publish_skill"
    description = (
        "Make a skill of a folder in the workspace: its SKILL.md, with front matter that has name "
        "and description, and all files beside it. Publishing it again makes a new version. All "
        "text in it is checked for unsafe content first."
    )
    # A repeat may undo what somebody changed since, or keep what the folder has become.
    effect = Effect.ONCE
    approval = Approval.NEVER
    parameters: type[BaseModel] = PublishSkillParameters
    timeout_s: Final = CHANGE_TIMEOUT_S

    def __init__(self, maker: ToolChangeMaker) -> None:
        self._maker = maker

    async def call(self, arguments: PublishSkillParameters, context: ToolContext) -> str:
        """What there is now, and what to do next."""

        def publish(author: Author) -> str:
            return self._publish(author, context, arguments.path)

        return await self._maker.make(context, "skills.publish", arguments.path, publish)

    def _publish(self, author: Author, context: ToolContext, given: str) -> str:
        path = folder_in(context.workspace, given)
        with readable_errors(path), open_directory(context.place, path.parts) as folder:
            bundle, left_out = read_open_folder(folder, str(path))
        kept = self._maker.service.keep(author, bundle, action="skills.publish")
        return published(kept, files=len(bundle), left_out=left_out)


def folder_in(workspace: Path, given: str) -> WorkspacePath:
    """The folder that a path means; one that is spelled from the root must begin as the workspace.

    Shells answer with such paths. What comes behind is read by the same rules as any other.
    """
    for top in (str(workspace), os.path.realpath(workspace)):
        if given == top:
            return parse_path(".")
        if given.startswith(f"{top}/"):
            return parse_path(given[len(top) + 1 :].lstrip("/") or ".")
    return parse_path(given)
