"""What came of a skill, on the wire."""

from understudy.wire.base import Items, Omitted, View


class UsageFigures(View):
    """In how many runs it was on offer and was used, and how those that used it ended."""

    offered: int
    used: int
    succeeded: int
    failed: int
    abandoned: int
    last_used_at_ms: Omitted[int] = None


class VersionUsage(UsageFigures):
    """The same of one version; a skill that lies in a folder has only version 0."""

    version: int


class SkillUsage(Items[VersionUsage]):
    """Every version that runs knew of, newest first, and the sums over all of them."""

    skill_id: str
    slug: str
    # Since when is counted; 0: ever.
    since_ms: int
    total: UsageFigures
