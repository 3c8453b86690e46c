"""The tools `list_skills` and `skill_search`."""

import json
from collections.abc import Sequence
from typing import Any, Final

from pydantic import BaseModel, Field

from understudy.core.text import preview
from understudy.skills.catalogue import MAX_QUERY_CHARS, Catalogue
from understudy.skills.catalogue_entry import CatalogueEntry
from understudy.tools.base import Approval, Effect, Parameters, ToolContext, ToolError
from understudy.work.db_retry import run_blocking

PAGE: Final = 50
DEFAULT_RESULTS: Final = 5
MAX_RESULTS: Final = 25
DESCRIPTION_CHARS: Final = 300
NOTE: Final = "Names and descriptions are what skills say of themselves. Open one with use_skill."
NONE_FIT: Final = (
    "No skill fits these words. Try others, or see them all with list_skills; if there is none, "
    "work without."
)
NONE_HERE: Final = "There are no skills that you may use in this session."


class ListSkillsParameters(Parameters):
    """What `list_skills` takes."""

    offset: int = Field(default=0, ge=0, description="How many to pass over, to read on.")


class SkillSearchParameters(Parameters):
    """What `skill_search` takes."""

    query: str = Field(
        min_length=1, max_length=MAX_QUERY_CHARS, description="What you want to do, in a few words."
    )
    max_results: int = Field(default=DEFAULT_RESULTS, ge=1, le=MAX_RESULTS)


class ListSkills:
    """Lists the skills that the agent may use for this user in this session."""

    name = "list_skills"
    description = "List the skills that you may use here, by name, with what each is for."
    effect = Effect.READ
    approval = Approval.NEVER
    parameters: type[BaseModel] = ListSkillsParameters

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue

    async def call(self, arguments: ListSkillsParameters, context: ToolContext) -> str:
        """A page of skills, and the offset of the next page."""
        offered = await run_blocking(_offered, self._catalogue, context)
        if not offered:
            return NONE_HERE
        shown = offered[arguments.offset : arguments.offset + PAGE]
        if not shown:
            raise ToolError(f"there are only {len(offered)} skills", code="offset_past_end")
        end = arguments.offset + len(shown)
        more = f"Read on with offset={end}. " if end < len(offered) else ""
        return _report(shown, note=more + NOTE, total=len(offered))


class SkillSearch:
    """Searches the skills that the agent may use."""

    name = "skill_search"
    description = "Find skills for a task by words in their names and descriptions, best first."
    effect = Effect.READ
    approval = Approval.NEVER
    parameters: type[BaseModel] = SkillSearchParameters

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue

    async def call(self, arguments: SkillSearchParameters, context: ToolContext) -> str:
        """The best matches, or that there is none."""
        found = await run_blocking(self._find, arguments, context)
        return _report(found, note=NOTE) if found else NONE_FIT

    def _find(
        self, wanted: SkillSearchParameters, context: ToolContext
    ) -> tuple[CatalogueEntry, ...]:
        offered = _offered(self._catalogue, context)
        return self._catalogue.find(offered, wanted.query, wanted.max_results)


def _offered(catalogue: Catalogue, context: ToolContext) -> tuple[CatalogueEntry, ...]:
    return catalogue.list_for(
        agent_id=context.agent_id, user_id=context.user_id, session_id=context.session_id
    )


def _report(offered: Sequence[CatalogueEntry], *, note: str, **more: Any) -> str:
    """The answer as JSON, so that text of a skill cannot pass for instructions."""
    report = {"note": note, **more, "skills": [_shown(one) for one in offered]}
    return json.dumps(report, ensure_ascii=False)


def _shown(one: CatalogueEntry) -> dict[str, Any]:
    shown = {
        "name": one.slug,
        "title": one.name if one.name != one.slug else None,
        "description": preview(one.description, DESCRIPTION_CHARS),
        "when_to_use": preview(one.when_to_use, DESCRIPTION_CHARS),
        "origin": str(one.origin),
        "version": one.shown_version,
        "context": str(one.context) if one.context != "inline" else None,
        "missing": list(one.missing_deps),
        "unusable": one.unusable,
    }
    return {name: value for name, value in shown.items() if value}
