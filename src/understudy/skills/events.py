"""Events of skills, published to the subscribers in this process."""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum

import structlog

from understudy.skills.model import Skill

log = structlog.get_logger()


class SkillEventName(StrEnum):
    """The names of events."""

    DEPS_CHECKED = "skill.deps.checked"
    DEPS_COMPLETE = "skill.deps.complete"
    DEPS_INSTALLING = "skill.deps.installing"
    DEPS_INSTALLED = "skill.deps.installed"
    DEP_INSTALLING = "skill.dep.item.installing"
    DEP_INSTALLED = "skill.dep.item.installed"
    INVALIDATE = "cache.invalidate"


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillEvent:
    """An event about one skill or about all of them."""

    name: SkillEventName
    payload: Mapping[str, object]

    @property
    def slug(self) -> str | None:
        """The slug of the event's skill; None for an event about all skills."""
        slug = self.payload.get("slug")
        return slug if isinstance(slug, str) else None


# Called in the publishing thread, so it must return at once.
Subscriber = Callable[[SkillEvent], None]


class SkillEvents:
    """Publishes events to subscribers; thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._subscribers: dict[object, Subscriber] = {}

    def subscribe(self, subscriber: Subscriber) -> Callable[[], None]:
        """Add a subscriber; the function that this returns removes it."""
        ticket = object()
        with self._lock:
            self._subscribers[ticket] = subscriber

        def unsubscribe() -> None:
            with self._lock:
                self._subscribers.pop(ticket, None)

        return unsubscribe

    def tell(self, name: SkillEventName, payload: Mapping[str, object]) -> None:
        """Publish an event; an exception in a subscriber is logged and does not stop the others."""
        event = SkillEvent(name=name, payload=dict(payload))
        with self._lock:
            subscribers = tuple(self._subscribers.values())
        for subscriber in subscribers:
            try:
                subscriber(event)
            except Exception:
                log.exception("skills.event_not_taken", event_name=str(name))

    def changed(self, skill: Skill, what: str) -> None:
        """Publish that a change of a skill was committed, so caches of it are out of date."""
        payload = {"slug": skill.slug, "skill_id": skill.skill_id, "what": what}
        self.tell(SkillEventName.INVALIDATE, payload)
