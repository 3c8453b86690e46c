"""What came of skills as the wire shows it."""

from collections.abc import Iterable
from typing import Any

from understudy.core.page import Page
from understudy.skills.model import Skill
from understudy.skills.usage import SkillVersionUsage
from understudy.wire.skill_usage import SkillUsage, UsageFigures, VersionUsage

COUNTED = ("offered", "used", "succeeded", "failed", "abandoned")


def usage_view(
    skill: Skill,
    usage: tuple[SkillVersionUsage, ...],
    page: Page[SkillVersionUsage],
    *,
    since_ms: int,
) -> SkillUsage:
    """A page of versions with the sums over all."""
    return SkillUsage(
        skill_id=skill.skill_id,
        slug=skill.slug,
        since_ms=since_ms,
        total=UsageFigures(**_summed(usage)),
        items=[VersionUsage(version=it.version, **_summed((it,))) for it in page.items],
        next_cursor=page.next_cursor,
    )


def _summed(usage: Iterable[SkillVersionUsage]) -> dict[str, Any]:
    counted = tuple(usage)
    last = [it.last_used_at_ms for it in counted if it.last_used_at_ms is not None]
    figures = {name: sum(getattr(it, name) for it in counted) for name in COUNTED}
    return {**figures, "last_used_at_ms": max(last, default=None)}
