"""Skills without rows of their own, such as those in folders, as records beside the kept ones."""

from collections.abc import Iterable
from typing import Final

from understudy.core.page import Page, PageRequest, decode_cursor, encode_cursor
from understudy.skills.filters import SkillFilter
from understudy.skills.local.skill import LocalSkill
from understudy.skills.model import KEPT, Skill, SkillOrigin, Visibility
from understudy.skills.refs import LOCAL
from understudy.skills.sorting import list_key

# Nobody's: whoever may write into the folder decides.
LOCAL_OWNER: Final = "local"


def record_of(skill: LocalSkill) -> Skill:
    """A skill in a folder as the record it would have; it has no versions, so it is in none."""
    return Skill(
        skill_id=LOCAL + skill.slug,
        slug=skill.slug,
        name=skill.name,
        description=skill.description,
        origin=SkillOrigin.LOCAL,
        owner_id=LOCAL_OWNER,
        version=0,
        digest=skill.digest,
        size=skill.size,
        created_at_ms=skill.changed_at_ms,
        updated_at_ms=skill.changed_at_ms,
        visibility=Visibility.PUBLIC,
        tags=skill.manifest.tags,
        frontmatter=dict(skill.manifest.written),
        context=skill.runtime.context,
    )


def fits(skill: Skill, narrowed: SkillFilter) -> bool:
    """Whether a list that is narrowed like this shows such a skill."""
    asked: tuple[tuple[object, object], ...] = (
        (narrowed.origin, skill.origin),
        (narrowed.visibility, skill.visibility),
        (narrowed.status, skill.status),
        (narrowed.owner_id, skill.owner_id),
        (narrowed.enabled, skill.enabled),
    )
    if any(wanted is not None and wanted != has for wanted, has in asked):
        return False
    words = (skill.slug, skill.name, skill.description, *skill.tags)
    sought = (narrowed.query or "").casefold()
    return any(sought in word.casefold() for word in words)


def merged(rows: Page[Skill], others: Iterable[Skill], request: PageRequest) -> Page[Skill]:
    """A page of rows with the skills that belong between them and have none."""
    last = None if rows.next_cursor is None else decode_cursor(rows.next_cursor)
    between = [
        skill
        for skill in others
        if (request.after is None or _place(skill) > request.after)
        and (last is None or _place(skill) <= last)
    ]
    together = sorted((*rows.items, *between), key=_place)
    shown = tuple(together[: request.limit])
    if len(together) > len(shown):
        return Page(items=shown, next_cursor=encode_cursor(_place(shown[-1])))
    return Page(items=shown, next_cursor=rows.next_cursor)


def _place(skill: Skill) -> tuple[str, str]:
    """Where it stands in a list: right behind the kept one of the same name and slug."""
    name, slug = list_key(skill)
    # No slug has a blank, and nothing sorts before one that a slug has.
    return (name, slug) if skill.origin in KEPT else (name, f"{slug} ")
