"""Bindings: keys of callers, each bound to one session."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from understudy.core import audit
from understudy.core.errors import coded_error
from understudy.core.page import Page, PageRequest
from understudy.core.principal import Principal
from understudy.redaction.scrub import scrub
from understudy.sessions.journal import EventKind, NewEvent
from understudy.sessions.model import Session, SessionStatus, require_session

if TYPE_CHECKING:
    from understudy.storage.unit import Unit, Units

MAX_KEY_CHARS: Final = 200
# Limit per session, against a caller that makes up a new key for every message.
MAX_KEYS: Final = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionBinding:
    """A key that stands for a session, such as an external chat thread."""

    binding_key: str
    session_id: str
    # Who submitted the input with the key.
    bound_by: str
    created_at_ms: int


def take_keys(
    unit: "Unit", principal: Principal, session: Session, keys: Iterable[str], *, at_ms: int
) -> None:
    """Bind keys to a session; a key bound to another session is a conflict.

    A key of an ended session is free: nothing can be sent there any more.
    """
    wanted = dict.fromkeys(_checked(at, key) for at, key in enumerate(keys))
    added = [key for key in wanted if _take(unit, principal, session, key, at_ms=at_ms)]
    if not added:
        return
    if unit.bindings.count(session.session_id) > MAX_KEYS:
        raise coded_error("sessions/too_many_bindings", limit=MAX_KEYS, pointer="/binding_keys")
    event = NewEvent(kind=EventKind.SESSION, data={"type": "bindings_added", "count": len(added)})
    unit.journal.append(session.session_id, (event,), at_ms=at_ms)
    said = f"{len(added)} key{'' if len(added) == 1 else 's'}"
    unit.audit.add(
        audit.done(principal, "sessions.bind_keys", session.session_id, at_ms=at_ms, reason=said)
    )


def _take(unit: "Unit", principal: Principal, session: Session, key: str, *, at_ms: int) -> bool:
    """Bind one key; returns whether it is new to the session."""
    binding = SessionBinding(
        binding_key=key,
        session_id=session.session_id,
        bound_by=principal.user_id,
        created_at_ms=at_ms,
    )
    if unit.bindings.add(binding):
        return True
    known = unit.bindings.get(key)
    if known is not None and known.session_id == session.session_id:
        return False
    holder = None if known is None else unit.sessions.get(known.session_id)
    if holder is not None and holder.status is SessionStatus.ENDED:
        if unit.bindings.move(binding, holder=holder.session_id):
            return True
        holder = None
    # The holder's session id is only shown to callers who may see it.
    variant = "" if holder is None else ":of"
    raise coded_error(
        f"sessions/binding_conflict{variant}",
        binding_key=key,
        session_id=None if holder is None else holder.session_id,
    )


def _checked(at: int, key: str) -> str:
    """The trimmed key, or `Invalid`."""
    trimmed = key.strip()
    if not trimmed or len(trimmed) > MAX_KEY_CHARS or not trimmed.isprintable():
        raise coded_error(
            "sessions/invalid_binding_key", limit=MAX_KEY_CHARS, pointer=f"/binding_keys/{at}"
        )
    if scrub(trimmed) != trimmed:
        raise coded_error("sessions/invalid_binding_key:secret", pointer=f"/binding_keys/{at}")
    return trimmed


@dataclass(frozen=True, slots=True)
class Bindings:
    """Lists the bindings of a session."""

    units: "Units"

    def page(self, session_id: str, request: PageRequest) -> Page[SessionBinding]:
        """The keys of a session, in order."""
        with self.units.read() as unit:
            require_session(unit, session_id)
            return unit.bindings.page(session_id, request)
