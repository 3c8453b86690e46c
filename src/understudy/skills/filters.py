"""What a list of skills is narrowed to."""

from dataclasses import dataclass

from understudy.skills.model import SkillOrigin, SkillStatus, Visibility


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillFilter:
    """Every field narrows further; deleted skills are in no list unless their status is asked for."""

    # Only what this user may know of; None is for somebody who may know of all.
    seen_by: str | None = None
    origin: SkillOrigin | None = None
    visibility: Visibility | None = None
    status: SkillStatus | None = None
    owner_id: str | None = None
    enabled: bool | None = None
    # A part of the slug, the name, the description or a tag, in any case.
    query: str | None = None


EVERYTHING = SkillFilter()
