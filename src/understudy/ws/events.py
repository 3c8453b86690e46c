"""Skill events, sent to the clients that may see the skill."""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from understudy.core.errors import UnderstudyError
from understudy.core.principal import Principal, Role
from understudy.skills.events import SkillEvent, SkillEventName
from understudy.skills.library import SkillLibrary

Audience = Callable[[SkillLibrary, Principal, SkillEvent], bool]


def knows_the_skill(library: SkillLibrary, principal: Principal, event: SkillEvent) -> bool:
    """Whether the caller may see the skill."""
    if event.slug is None:
        return False
    try:
        library.current(principal, event.slug)
    except UnderstudyError:
        return False
    return True


def is_admin(_: SkillLibrary, principal: Principal, __: SkillEvent) -> bool:
    """Whether the caller is an admin: installs reveal skills of other users."""
    return principal.role.includes(Role.ADMIN)


# An event that is not here, no client hears of.
AUDIENCES: Final[Mapping[SkillEventName, Audience]] = {
    SkillEventName.DEPS_CHECKED: knows_the_skill,
    SkillEventName.DEPS_COMPLETE: is_admin,
    SkillEventName.DEPS_INSTALLING: is_admin,
    SkillEventName.DEPS_INSTALLED: is_admin,
    SkillEventName.DEP_INSTALLING: is_admin,
    SkillEventName.DEP_INSTALLED: is_admin,
}


def audible(
    library: SkillLibrary, principal: Principal, events: Iterable[SkillEvent]
) -> list[SkillEvent]:
    """The events that a principal may see."""
    return [event for event in events if AUDIENCES[event.name](library, principal, event)]


class Inbox:
    """Events that came in and were not looked at yet; they may come from any thread."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._loop = asyncio.get_running_loop()
        self._events: list[SkillEvent] = []
        self._arrived = asyncio.Event()
        self._is_over = False

    def note(self, event: SkillEvent) -> None:
        """Take an event, on the thread on which it happened."""
        if event.name in AUDIENCES and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._add, event)

    async def take(self) -> list[SkillEvent] | None:
        """The events since the last call; waits for the first one. None after an overflow."""
        await self._arrived.wait()
        if self._is_over:
            return None
        self._arrived.clear()
        events, self._events = self._events, []
        return events

    def _add(self, event: SkillEvent) -> None:
        self._is_over = self._is_over or len(self._events) >= self._size
        if not self._is_over:
            self._events.append(event)
        self._arrived.set()
