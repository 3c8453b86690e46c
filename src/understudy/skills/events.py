"""Tells whoever listens, in this process, what happens to skills."""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum

import structlog

from understudy.skills.model import Skill

log = structlog.get_logger()


class SkillEventName(StrEnum):
    """What can be told."""

    DEPS_CHECKED = "skill.deps.checked"
    DEPS_COMPLETE = "skill.deps.complete"
    DEPS_INSTALLING = "skill.deps.installing"
    DEPS_INSTALLED = "skill.deps.installed"
    DEP_INSTALLING = "skill.dep.item.installing"
    DEP_INSTALLED = "skill.dep.item.installed"
    INVALIDATE = "cache.invalidate"


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillEvent:
    """One thing that happened."""

    name: SkillEventName
    payload: Mapping[str, object]

    @property
    def slug(self) -> str | None:
        """The skill that it is about; None when it is about all of them."""
        slug = self.payload.get("slug")
        return slug if isinstance(slug, str) else None


# Called in the thread that tells, so it only takes note and returns.
Subscriber = Callable[[SkillEvent], None]


class SkillEvents:
    """Hands what is told to every subscriber; any thread may tell and subscribe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._subscribers: dict[object, Subscriber] = {}

    def subscribe(self, subscriber: Subscriber) -> Callable[[], None]:
        """Hear of everything from now on; call what this answers to hear no more."""
        ticket = object()
        with self._lock:
            self._subscribers[ticket] = subscriber

        def unsubscribe() -> None:
            with self._lock:
                self._subscribers.pop(ticket, None)

        return unsubscribe

    def tell(self, name: SkillEventName, payload: Mapping[str, object]) -> None:
        """Tell everybody; one who fails does not keep it from the others, nor from whoever tells."""
        event = SkillEvent(name=name, payload=dict(payload))
        with self._lock:
            subscribers = tuple(self._subscribers.values())
        for subscriber in subscribers:
            try:
                subscriber(event)
            except Exception:
                log.exception("skills.event_not_taken", event_name=str(name))

    def changed(self, skill: Skill, what: str) -> None:
        """A skill was changed and committed: what is remembered of it is out of date."""
        payload = {"slug": skill.slug, "skill_id": skill.skill_id, "what": what}
        self.tell(SkillEventName.INVALIDATE, payload)
