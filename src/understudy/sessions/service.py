"""Use cases of sessions: create or reuse, bind, narrow, end."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Final

from understudy.core import audit
from understudy.core.clock import Clock
from understudy.core.errors import FieldError, coded_error
from understudy.core.ids import check_caller_id
from understudy.core.page import Page, PageRequest
from understudy.core.principal import Principal
from understudy.permissions.model import CallRule
from understudy.permissions.rules import (
    changed_rules,
    read_rules,
    read_session_rules,
    write_rules,
)
from understudy.sessions.creation import FlatScope, NewSession, open_session, reuse
from understudy.sessions.journal import EventKind, NewEvent
from understudy.sessions.known_names import KnownNames
from understudy.sessions.model import (
    ActiveSkillSource,
    DefaultSkill,
    ReplyTarget,
    RoutePolicy,
    Session,
    SessionStatus,
    require_session,
)
from understudy.sessions.persona import take_snapshot
from understudy.sessions.scopes import changed_scope, read_capability_scope, read_credential_scope

if TYPE_CHECKING:
    from understudy.skills.active import ActiveSkills
    from understudy.storage.unit import Unit, Units

WITH_PARENT: Final = "its parent session has ended"


@dataclass(frozen=True, slots=True)
class SessionService:
    """Every change of a session, each in one transaction."""

    units: "Units"
    clock: Clock
    route_exists: Callable[[str], bool]
    # Pins the active skills of a session to versions; without it none can be active.
    skills: "ActiveSkills | None" = None
    names: KnownNames = field(default_factory=KnownNames)

    def create(self, principal: Principal, wanted: NewSession) -> Session:
        """Create a session, or reuse the one with that id when the request does not differ."""
        if wanted.session_id is not None:
            check_caller_id(wanted.session_id, field="session_id", domain="sessions")
        if wanted.persona_id is not None:
            self._refresh_skills()
        self.names.refresh()
        with self.units.write() as unit:
            if wanted.session_id is not None:
                existing = unit.sessions.get(wanted.session_id, lock=True)
                if existing is not None:
                    return reuse(existing, wanted)
            check = partial(self.names.check_scope, unit, principal)
            check(wanted.capabilities, where="capability_scope")
            check(wanted.credentials, where="credential_scope")
            equip = partial(self._with_defaults, unit, principal)
            session = open_session(unit, principal, wanted, now_ms=self.clock.now_ms(), equip=equip)
            if session is None:  # created by another process meanwhile
                return reuse(require_session(unit, wanted.session_id or "", lock=True), wanted)
            return session

    def warnings(self, principal: Principal, session: Session) -> tuple[FieldError, ...]:
        """The skills that the scope of a session allows and that are not there yet."""
        scope = session.capability_scope
        asked = None if scope is None else read_capability_scope(scope)
        with self.units.read() as unit:
            return self.names.warnings(unit, principal, asked)

    def get(self, session_id: str) -> Session:
        """One session, or `NotFound`."""
        with self.units.read() as unit:
            return require_session(unit, session_id)

    def page(
        self,
        request: PageRequest,
        *,
        persona_id: str | None = None,
        status: str | None = None,
        binding_key: str | None = None,
    ) -> Page[Session]:
        """Sessions, newest first."""
        with self.units.read() as unit:
            return unit.sessions.page(
                request, persona_id=persona_id, status=status, binding_key=binding_key
            )

    def bind_persona(self, principal: Principal, session_id: str, persona_id: str) -> Session:
        """Bind a snapshot of the persona to an idle session; its default skills become active."""

        def bind(unit: "Unit", session: Session) -> Session:
            snapshot = take_snapshot(unit, persona_id, now_ms=self.clock.now_ms())
            bound = replace(_without_persona(session), persona=snapshot)
            return self._with_defaults(unit, principal, bound)

        self._refresh_skills()
        return self._change(principal, session_id, "sessions.bind_persona", bind, needs_idle=True)

    def clear_persona(self, principal: Principal, session_id: str) -> Session:
        """Unbind the persona of an idle session."""
        return self._change(
            principal,
            session_id,
            "sessions.clear_persona",
            lambda _, session: _without_persona(session),
            needs_idle=True,
        )

    def activate_skill(
        self, principal: Principal, session_id: str, wanted: DefaultSkill
    ) -> Session:
        """Activate a skill in an idle session, in the version that is served now."""
        self._refresh_skills()
        return self._change(
            principal,
            session_id,
            "sessions.activate_skill",
            lambda unit, session: self._fixed(
                unit, principal, session, (wanted,), ActiveSkillSource.SESSION
            ),
            needs_idle=True,
            reason=wanted.name,
        )

    def deactivate_skills(
        self,
        principal: Principal,
        session_id: str,
        drop: Callable[[Session], Session],
        *,
        reason: str | None,
    ) -> Session:
        """Deactivate skills of an idle session."""
        return self._change(
            principal,
            session_id,
            "sessions.deactivate_skill",
            lambda _, session: drop(session),
            needs_idle=True,
            reason=reason,
        )

    def _refresh_skills(self) -> None:
        if self.skills is not None:
            self.skills.catalogue.refresh()

    def _with_defaults(self, unit: "Unit", principal: Principal, session: Session) -> Session:
        """The session with its persona's default skills; a sidechain has its parent's."""
        if session.persona is None or session.parent_session_id is not None:
            return session
        wanted = session.persona.default_skills
        return self._fixed(unit, principal, session, wanted, ActiveSkillSource.PERSONA)

    def _fixed(
        self,
        unit: "Unit",
        principal: Principal,
        session: Session,
        wanted: Sequence[DefaultSkill],
        source: ActiveSkillSource,
    ) -> Session:
        if self.skills is None:
            return session
        now = self.clock.now_ms()
        return self.skills.fix(
            unit, session, wanted, source=source, user_id=principal.user_id, at_ms=now
        )

    def set_capability_scope(
        self, principal: Principal, session_id: str, scope: FlatScope | None
    ) -> Session:
        """Set or clear the capability scope of an idle session, within the persona's scope."""
        asked = None if scope is None else read_capability_scope(scope)

        def change(unit: "Unit", session: Session) -> Session:
            had = session.capability_scope
            self.names.check_scope(unit, principal, asked, where="capability_scope", had=had)
            changed = changed_scope(session, had, asked, read_capability_scope)
            return replace(session, capability_scope=changed)

        self.names.refresh()
        action = "sessions.set_capability_scope"
        return self._change(principal, session_id, action, change, needs_idle=True)

    def set_credential_scope(
        self, principal: Principal, session_id: str, scope: FlatScope | None
    ) -> Session:
        """Set or clear the credential scope of an idle session."""
        asked = None if scope is None else read_credential_scope(scope)

        def change(unit: "Unit", session: Session) -> Session:
            had = session.credential_scope
            self.names.check_scope(unit, principal, asked, where="credential_scope", had=had)
            changed = changed_scope(session, had, asked, read_credential_scope)
            return replace(session, credential_scope=changed)

        action = "sessions.set_credential_scope"
        return self._change(principal, session_id, action, change, needs_idle=True)

    def set_permissions(
        self, principal: Principal, session_id: str, rules: tuple[CallRule, ...]
    ) -> Session:
        """Set the session's own rules, also while it is busy: the next tool call sees them."""

        def change(_: "Unit", session: Session) -> Session:
            is_sidechain = session.parent_session_id is not None
            changed = changed_rules(session.permissions, rules, is_sidechain=is_sidechain)
            return replace(session, permissions=changed.to_json())

        return self._change(principal, session_id, "sessions.set_permissions", change)

    def set_route_policy(
        self, principal: Principal, session_id: str, policy: RoutePolicy | None
    ) -> Session:
        """Set or clear the route of future runs; runs already submitted keep theirs."""
        if policy is not None and policy.provider and not self.route_exists(policy.provider):
            raise coded_error(
                "routes/route_not_found:in_body",
                pointer="/route_policy/provider",
                route_id=policy.provider,
            )
        return self._change(
            principal,
            session_id,
            "sessions.set_route_policy",
            lambda _, session: replace(session, route_policy=policy),
        )

    def set_reply_targets(
        self, principal: Principal, session_id: str, targets: tuple[ReplyTarget, ...]
    ) -> Session:
        """Set the reply targets of future runs; runs already submitted keep theirs."""
        return self._change(
            principal,
            session_id,
            "sessions.set_reply_targets",
            lambda _, session: replace(session, reply_targets=targets),
        )

    def end(self, principal: Principal, session_id: str, reason: str | None) -> Session:
        """End an idle session and all its descendants; idempotent."""

        def close(unit: "Unit", session: Session) -> Session:
            below = hold_below(unit, session_id)
            # Checked again, now that nobody can submit to the descendants either.
            require_idle(unit, session_id)
            check_in_no_group(unit, (session, *below))
            end_with_parent(unit, principal, below, now_ms=self.clock.now_ms())
            return replace(session, status=SessionStatus.ENDED, ended_reason=reason)

        return self._change(
            principal, session_id, "sessions.end", close, needs_idle=True, allow_ended=True
        )

    def _change(
        self,
        principal: Principal,
        session_id: str,
        action: str,
        change: Callable[["Unit", Session], Session],
        *,
        needs_idle: bool = False,
        allow_ended: bool = False,
        reason: str | None = None,
    ) -> Session:
        with self.units.write() as unit:
            session = require_session(unit, session_id, lock=True)
            if session.status is SessionStatus.ENDED:
                if allow_ended:
                    return session
                raise coded_error("sessions/session_ended")
            if needs_idle:
                require_idle(unit, session_id)
            wanted = change(unit, session)
            if wanted == session:
                return session
            changed = replace(
                wanted,
                version=session.version + 1,
                updated_at_ms=self.clock.now_ms(),
            )
            unit.sessions.update(changed, expected_version=session.version)
            changed = self._record(unit, changed, action.removeprefix("sessions."), {})
            self._audit(unit, principal, action, changed, reason=reason)
            return changed

    def _record(
        self, unit: "Unit", session: Session, what: str, more: Mapping[str, object]
    ) -> Session:
        event = NewEvent(kind=EventKind.SESSION, data={"type": what, **more})
        (written,) = unit.journal.append(session.session_id, (event,), at_ms=self.clock.now_ms())
        return replace(session, journal_length=written.offset)

    def _audit(
        self,
        unit: "Unit",
        principal: Principal,
        action: str,
        session: Session,
        *,
        reason: str | None = None,
    ) -> None:
        unit.audit.add(
            audit.done(
                principal,
                action,
                session.session_id,
                at_ms=self.clock.now_ms(),
                version=session.version,
                reason=reason,
            )
        )


def _without_persona(session: Session) -> Session:
    """The session without its persona and the persona's skills."""
    kept = [it for it in session.active_skills if it.source is not ActiveSkillSource.PERSONA]
    return replace(session, persona=None, active_skills=tuple(kept))


def add_rules(
    unit: "Unit", principal: Principal, session_id: str, wanted: Sequence[CallRule], *, at_ms: int
) -> None:
    """Add permission rules to a session; a sidechain can only be narrowed."""
    session = require_session(unit, session_id, lock=True)
    own = read_session_rules(session.permissions).own
    new = [rule for rule in wanted if rule not in own]
    if not new:
        return
    # Parsed again like a caller's document, so that too many rules are refused.
    rules = read_rules(write_rules((*own, *new)))
    is_sidechain = session.parent_session_id is not None
    changed = replace(
        session,
        permissions=changed_rules(session.permissions, rules, is_sidechain=is_sidechain).to_json(),
        version=session.version + 1,
        updated_at_ms=at_ms,
    )
    unit.sessions.update(changed, expected_version=session.version)
    event = NewEvent(kind=EventKind.SESSION, data={"type": "set_permissions"})
    unit.journal.append(session_id, (event,), at_ms=at_ms)
    unit.audit.add(
        audit.done(
            principal,
            "sessions.set_permissions",
            session_id,
            at_ms=at_ms,
            version=changed.version,
            # Without arguments: those of a command may contain secrets.
            reason=", ".join(sorted({f"{rule.decision} {rule.tool}" for rule in new})),
        )
    )


def require_idle(unit: "Unit", session_id: str) -> None:
    """Raise unless nothing is queued, running or waiting in the session or its descendants."""
    blockers = unit.sessions.activity(session_id).blockers
    if blockers:
        raise coded_error("sessions/session_not_idle", blockers=list(blockers))


def hold_below(unit: "Unit", session_id: str) -> tuple[Session, ...]:
    """The unfinished descendants of a locked session, locked before any event is written."""
    return tuple(
        require_session(unit, child_id, lock=True) for child_id in unit.sidechains.below(session_id)
    )


def check_in_no_group(unit: "Unit", sessions: Sequence[Session]) -> None:
    """Refuse to end a member of a project or of a channel."""
    for session in sessions:
        channels = unit.channels.of_session(session.session_id)
        if channels:
            raise coded_error(
                "sessions/session_in_channel",
                session_id=session.session_id,
                channel_id=channels[0],
            )
        projects = unit.projects.ids_for_session(session.session_id)
        if projects:
            raise coded_error(
                "sessions/session_in_project", session_id=session.session_id, projects=projects[0]
            )


def end_with_parent(
    unit: "Unit", principal: Principal, sessions: Sequence[Session], *, now_ms: int
) -> None:
    """End locked sidechains whose parent ends."""
    for session in sessions:
        ended = replace(
            session,
            status=SessionStatus.ENDED,
            ended_reason=WITH_PARENT,
            version=session.version + 1,
            updated_at_ms=now_ms,
        )
        unit.sessions.update(ended, expected_version=session.version)
        event = NewEvent(kind=EventKind.SESSION, data={"type": "end"})
        unit.journal.append(session.session_id, (event,), at_ms=now_ms)
        unit.audit.add(
            audit.done(
                principal, "sessions.end", session.session_id, at_ms=now_ms, version=ended.version
            )
        )
