"""What can be asked about skills: the same services as over HTTP, in other words."""

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from understudy.core.errors import Invalid, coded_error
from understudy.core.page import MAX_LIMIT, PageRequest
from understudy.core.principal import Principal
from understudy.core.records import parsed
from understudy.skills.access import Author
from understudy.skills.model import EVERYTHING, Skill, is_id
from understudy.skills.revisions import SkillFieldChanges
from understudy.wire.websocket import (
    GetSkillParams,
    ListedSkills,
    ListSkillsParams,
    NamedSkill,
    SkillContent,
    SkillUpdated,
    UpdateSkillParams,
)
from understudy.ws.errors import within
from understudy.ws.limits import MAX_FRAME_BYTES

if TYPE_CHECKING:
    from understudy.daemon.services import Services

# What a frame holds beside the list itself.
ROOM: Final = MAX_FRAME_BYTES - 4096


def list_skills(
    services: "Services", principal: Principal, params: ListSkillsParams
) -> ListedSkills:
    """The skills that the caller may know of; fewer than asked for when they are long."""
    request = PageRequest.parse(limit=params.limit or MAX_LIMIT, cursor=params.cursor)
    while True:
        page = services.skills.library.page(principal, request, EVERYTHING)
        listed = ListedSkills(
            skills=[_named(skill) for skill in page.items], next_cursor=page.next_cursor
        )
        if request.limit == 1 or len(listed.model_dump_json().encode()) <= ROOM:
            return listed
        request = replace(request, limit=request.limit // 2)


def get_skill(services: "Services", principal: Principal, params: GetSkillParams) -> SkillContent:
    """One skill with its instructions."""
    found = services.skills.library.get(principal, _name(params.name))
    return SkillContent(**_named(found.skill).model_dump(), content=found.instructions)


def update_skill(
    services: "Services", principal: Principal, params: UpdateSkillParams
) -> SkillUpdated:
    """Change what people may change of a skill."""
    given = params.updates
    if not any(value is not None for value in given.model_dump().values()):
        raise coded_error("ws/no_updates", pointer="/params/updates")
    changes = parsed(SkillFieldChanges, given.model_dump())
    ref = _ref(params)
    try:
        services.skills.service.update(Author(principal=principal), ref, changes)
    except Invalid as error:
        raise within(error, "/params/updates") from None
    return SkillUpdated()


def _ref(params: UpdateSkillParams) -> str:
    """The one skill that is named."""
    named = [ref for ref in (params.id, params.name) if ref]
    if len(named) != 1:
        raise coded_error("ws/bad_request", pointer="/params")
    return _name(params.name) if params.name else named[0]


def _name(name: str) -> str:
    """A name as it is; one that no skill could have is that of none, unlike a malformed id."""
    try:
        is_id(name)
    except Invalid:
        raise coded_error("skills/skill_not_found", ref=name) from None
    return name


def _named(skill: Skill) -> NamedSkill:
    return NamedSkill.of(
        skill,
        id=skill.skill_id,
        source=skill.origin,
        author=skill.frontmatter.get("author"),
    )
