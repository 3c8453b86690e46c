"""Creation of a session: inheritance from its parent, and reuse of an existing one."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from understudy.agents.model import DEFAULT_AGENT_ID, require_agent
from understudy.core import audit
from understudy.core.errors import Invalid, coded_error
from understudy.core.ids import new_id
from understudy.core.principal import Principal
from understudy.core.records import JsonObject
from understudy.core.scope import Scope
from understudy.permissions.model import CallRule
from understudy.permissions.rules import NOTHING_RUNS, read_document, rules_for_sidechain
from understudy.sessions.journal import EventKind, NewEvent
from understudy.sessions.model import (
    ActiveSkill,
    ActiveSkillSource,
    PersonaSnapshot,
    Session,
    SessionStatus,
    check_room,
    require_session,
)
from understudy.sessions.persona import take_snapshot
from understudy.sessions.scopes import (
    effective_capability_scope,
    effective_credential_scope,
    read_capability_scope,
    read_credential_scope,
)

if TYPE_CHECKING:
    from understudy.storage.unit import Unit

FlatScope = Mapping[str, object]
_Read = Callable[[FlatScope], Scope]


@dataclass(frozen=True, slots=True, kw_only=True)
class NewSession:
    """The request for a new session; None leaves a field open."""

    session_id: str | None = None
    agent_id: str | None = None
    parent_session_id: str | None = None
    thread_id: str | None = None
    persona_id: str | None = None
    capability_scope: FlatScope | None = None
    credential_scope: FlatScope | None = None
    # Tools that it is denied for good, beyond its parent's denials.
    denied: tuple[CallRule, ...] = ()
    # Working directory within the workspace; a sidechain inherits its parent's.
    workdir: str | None = None
    # The trial that it belongs to; a sidechain inherits its parent's.
    trial_id: str | None = None

    @property
    def capabilities(self) -> Scope | None:
        """The capability scope asked for."""
        return (
            None if self.capability_scope is None else read_capability_scope(self.capability_scope)
        )

    @property
    def credentials(self) -> Scope | None:
        """The credential scope asked for."""
        return (
            None if self.credential_scope is None else read_credential_scope(self.credential_scope)
        )


def new_session(unit: "Unit", principal: Principal, wanted: NewSession, *, now_ms: int) -> Session:
    """The initial session; a sidechain inherits its parent's persona and narrows its scopes."""
    parent = _parent(unit, wanted)
    agent_id = wanted.agent_id or (parent.agent_id if parent else DEFAULT_AGENT_ID)
    require_agent(unit, agent_id)
    capabilities, credentials = wanted.capabilities, wanted.credentials
    if parent is not None:
        capabilities = _narrowed(effective_capability_scope(parent), capabilities)
        credentials = _narrowed(effective_credential_scope(parent), credentials)
    return Session(
        session_id=wanted.session_id or new_id("ses"),
        agent_id=agent_id,
        owner_id=principal.user_id,
        thread_id=wanted.thread_id,
        parent_session_id=wanted.parent_session_id,
        persona=_persona(unit, wanted, parent, now_ms=now_ms),
        capability_scope=None if capabilities is None else capabilities.to_json(),
        credential_scope=None if credentials is None else credentials.to_json(),
        active_skills=_inherited_skills(parent),
        permissions=_inherited_rules(unit, parent, agent_id, wanted.denied),
        workdir=wanted.workdir or (parent.workdir if parent else None),
        trial_id=parent.trial_id if parent else wanted.trial_id,
        created_at_ms=now_ms,
        updated_at_ms=now_ms,
    )


def open_session(
    unit: "Unit",
    principal: Principal,
    wanted: NewSession,
    *,
    now_ms: int,
    equip: Callable[[Session], Session] = lambda session: session,
) -> Session | None:
    """Insert a new session with its first event; None when its id is taken.

    `equip` adds the persona's default skills.
    """
    session = equip(new_session(unit, principal, wanted, now_ms=now_ms))
    if not unit.sessions.add(session):
        return None
    created = {"type": "created", "agent_id": session.agent_id}
    event = NewEvent(kind=EventKind.SESSION, data=created)
    (written,) = unit.journal.append(session.session_id, (event,), at_ms=now_ms)
    unit.audit.add(
        audit.done(
            principal, "sessions.create", session.session_id, at_ms=now_ms, version=session.version
        )
    )
    return replace(session, journal_length=written.offset)


def reuse(existing: Session, wanted: NewSession) -> Session:
    """The existing session if it matches the request; else a conflict naming the differences."""
    bound = existing.persona.persona_id if existing.persona else None
    asked = {
        "agent_id": wanted.agent_id not in (None, existing.agent_id),
        "parent_session_id": wanted.parent_session_id not in (None, existing.parent_session_id),
        "persona_id": wanted.persona_id not in (None, bound),
        "capability_scope": _differs(
            existing, wanted.capabilities, existing.capability_scope, read_capability_scope
        ),
        "credential_scope": _differs(
            existing, wanted.credentials, existing.credential_scope, read_credential_scope
        ),
    }
    differences = [name for name, differs in asked.items() if differs]
    if differences:
        raise coded_error(
            "sessions/session_conflict", differs=differences, session_id=existing.session_id
        )
    return existing


def _parent(unit: "Unit", wanted: NewSession) -> Session | None:
    if wanted.parent_session_id is None:
        return None
    # Locked until the unit ends, so that concurrent sidechains are counted.
    parent = require_session(unit, wanted.parent_session_id, lock=True)
    if parent.status is SessionStatus.ENDED:
        raise coded_error("sessions/session_ended:parent")
    check_room(unit, parent)
    return parent


def _persona(
    unit: "Unit", wanted: NewSession, parent: Session | None, *, now_ms: int
) -> PersonaSnapshot | None:
    if parent is None:
        if wanted.persona_id is None:
            return None
        return take_snapshot(unit, wanted.persona_id, now_ms=now_ms)
    if wanted.persona_id is not None:
        raise coded_error("sessions/persona_inherited", pointer="/persona_id")
    return parent.persona


def _inherited_skills(parent: Session | None) -> tuple[ActiveSkill, ...]:
    """The parent's active skills with their limits: a sidechain cannot escape them."""
    held = () if parent is None else parent.active_skills
    return tuple(replace(each, source=ActiveSkillSource.PARENT) for each in held)


def _inherited_rules(
    unit: "Unit", parent: Session | None, agent_id: str, denied: tuple[CallRule, ...]
) -> JsonObject | None:
    if parent is None and not denied:
        return None
    lost: tuple[CallRule, ...] = ()
    if parent is not None and agent_id != parent.agent_id:
        lost = _rules_of_agent(unit, parent.agent_id)
    # Stored as inherited: a change of the session's rules cannot drop them.
    lost = (*lost, *denied)
    above = None if parent is None else parent.permissions
    return rules_for_sidechain(above, of_parents_agent=lost).to_json()


def _rules_of_agent(unit: "Unit", agent_id: str) -> tuple[CallRule, ...]:
    agent = unit.agents.get(agent_id)
    try:
        return () if agent is None else read_document(agent.permissions)
    except Invalid:
        return (NOTHING_RUNS,)


def _narrowed(parent: Scope | None, own: Scope | None) -> Scope | None:
    if parent is None or own is None:
        return parent or own
    return parent.narrowed_by(own)


def _differs(
    existing: Session, asked: Scope | None, stored: Mapping[str, list[str]] | None, read: _Read
) -> bool:
    if asked is None:
        return False
    kept = read(stored or {})
    if existing.parent_session_id is None:
        return asked.to_json() != kept.to_json()
    # A sidechain stores the request narrowed by its parent's scope, so the same request adds
    # nothing.
    return kept.narrowed_by(asked).to_json() != kept.to_json()
