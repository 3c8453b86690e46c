"""What of the audit a caller may read: nothing about skills that they may not know of."""

from dataclasses import replace
from functools import cache
from typing import Final

from understudy.core.audit import AuditEntry
from understudy.core.errors import UnderstudyError
from understudy.core.page import Page
from understudy.core.principal import Principal, Role
from understudy.skills.library import SkillLibrary

RESOURCE: Final = "skills"


def told_to(caller: Principal, page: Page[AuditEntry], library: SkillLibrary) -> Page[AuditEntry]:
    """The page without what others did with skills that look to this caller as if missing, and
    without what was done with a skill before it was deleted and made anew, perhaps by another."""
    if caller.role.includes(Role.ADMIN):
        return page

    @cache
    def known_since(ref: str) -> int | None:
        try:
            return library.current(caller, ref).created_at_ms
        except UnderstudyError:
            return None

    def is_told(entry: AuditEntry) -> bool:
        if entry.resource != RESOURCE or entry.actor == caller.actor:
            return True
        since = known_since(entry.resource_id)
        return since is not None and entry.at_ms >= since

    return replace(page, items=tuple(entry for entry in page.items if is_told(entry)))
