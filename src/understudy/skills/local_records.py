"""Skills that lie in folders, as records beside those that are kept."""

from collections.abc import Iterable
from typing import Final

from understudy.core.page import Page, PageRequest, decode_cursor, encode_cursor
from understudy.skills.checks import LOCAL
from understudy.skills.filters import SkillFilter
from understudy.skills.local_skill import LocalSkill
from understudy.skills.model import Skill, SkillOrigin, SkillStatus, Visibility
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
        frontmatter=skill.manifest.flat(),
        context=skill.runtime.context,
    )


def fits(skill: Skill, narrowed: SkillFilter) -> bool:
    """Whether a list that is narrowed like this shows a local skill."""
    asked: tuple[tuple[object, object], ...] = (
        (narrowed.origin, SkillOrigin.LOCAL),
        (narrowed.visibility, Visibility.PUBLIC),
        (narrowed.status, SkillStatus.ACTIVE),
        (narrowed.owner_id, LOCAL_OWNER),
        (narrowed.enabled, True),
    )
    if any(wanted is not None and wanted != has for wanted, has in asked):
        return False
    words = (skill.slug, skill.name, skill.description, *skill.tags)
    sought = (narrowed.query or "").casefold()
    return any(sought in word.casefold() for word in words)


def merged(rows: Page[Skill], local: Iterable[Skill], request: PageRequest) -> Page[Skill]:
    """A page of rows with the local skills that belong between them."""
    last = None if rows.next_cursor is None else decode_cursor(rows.next_cursor)
    between = [
        skill
        for skill in local
        if (request.after is None or _place(skill) > request.after)
        and (last is None or _place(skill) <= last)
    ]
    together = sorted((*rows.items, *between), key=_place)
    shown = tuple(together[: request.limit])
    if len(together) > len(shown):
        return Page(items=shown, next_cursor=encode_cursor(_place(shown[-1])))
    return Page(items=shown, next_cursor=rows.next_cursor)


def _place(skill: Skill) -> tuple[str, str]:
    """Where it stands in a list: a local one right behind the kept one of the same name and slug."""
    name, slug = list_key(skill)
    # No slug has a blank, and nothing sorts before one that a slug has.
    return (name, f"{slug} ") if skill.origin is SkillOrigin.LOCAL else (name, slug)
