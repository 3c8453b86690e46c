"""Sessions."""

from functools import partial
from typing import Annotated, Final

from fastapi import APIRouter, Query

from understudy.api.gate import GatedRoute
from understudy.api.operations import POST_TWIN, client, operator, viewer
from understudy.api.paging import Paging, items, offset_of
from understudy.api.services import Caller, Services, SessionId
from understudy.api.views.sessions import (
    newest_outputs,
    reply_targets_view,
    session_events_view,
    session_view,
    snapshot_view,
)
from understudy.core.errors import FieldError
from understudy.core.page import Page
from understudy.core.principal import Principal
from understudy.core.scope import ALL
from understudy.runs.submission import check_reply_targets
from understudy.sessions.bindings import Bindings, SessionBinding
from understudy.sessions.creation import NewSession
from understudy.sessions.journal import EventKind
from understudy.sessions.model import (
    DefaultSkill,
    ReplyTarget,
    RoutePolicy,
    Session,
    SessionStatus,
    require_session,
)
from understudy.skills.active import ActiveSkills, ActiveSkillStanding, without
from understudy.wire.base import Items
from understudy.wire.sessions import (
    ActivateSkill,
    BindPersona,
    CreateSession,
    EndSession,
    InterruptView,
    ReplyTargetsView,
    SessionEventsView,
    SessionPersonaView,
    SessionView,
    SetCapabilityScope,
    SetCredentialScope,
    SetReplyTargets,
    SetRoutePolicy,
)

router = APIRouter(tags=["sessions"], route_class=GatedRoute)
ONE: Final = "/v1/sessions/{session_id}"


def _view(
    services: Services, changed: Session, warnings: tuple[FieldError, ...] = ()
) -> SessionView:
    """The session read again: its journal grew with the change."""
    with services.resources.units.read() as unit:
        session = require_session(unit, changed.session_id)
        view = session_view(unit, session, outputs=newest_outputs(unit, session))
        return view.model_copy(update={"warnings": warnings})


def _standings(
    services: Services, caller: Principal, session: Session
) -> tuple[ActiveSkillStanding, ...]:
    catalogue = services.skills.catalogue
    catalogue.refresh()
    with services.resources.units.read() as unit:
        return ActiveSkills(catalogue).standings(unit, session, user_id=caller.user_id)


@router.post("/v1/sessions", operation_id="sessions.create", status_code=201)
@client(body_id="session_id")
def create(services: Services, caller: Caller, body: CreateSession | None = None) -> SessionView:
    """Create a session, or reuse the one of that id when nothing asked for differs."""
    wanted = body or CreateSession()
    made = services.sessions.create(caller, NewSession(**wanted.model_dump()))
    return _view(services, made, services.sessions.warnings(caller, made))


@router.get("/v1/sessions", operation_id="sessions.list")
@viewer()
def list_sessions(
    services: Services,
    page: Paging,
    persona_id: Annotated[str | None, Query(description="only with this persona bound")] = None,
    status: Annotated[SessionStatus | None, Query(description="only in this status")] = None,
    binding_key: Annotated[str | None, Query(description="the one this key stands for")] = None,
) -> Items[SessionView]:
    """List sessions, newest first."""
    found = services.sessions.page(
        page, persona_id=persona_id, status=status, binding_key=binding_key
    )
    with services.resources.units.read() as unit:
        standings = unit.sessions.standings([session.session_id for session in found.items])

        def view(session: Session) -> SessionView:
            return session_view(unit, session, standing=standings[session.session_id])

        return items(found, view)


@router.get(ONE, operation_id="sessions.get")
@viewer()
def get(session_id: SessionId, services: Services) -> SessionView:
    """Show a session."""
    return _view(services, services.sessions.get(session_id))


@router.get(ONE + "/persona", operation_id="sessions.persona")
@viewer()
def get_persona(session_id: SessionId, services: Services) -> SessionPersonaView:
    """Show the persona snapshot of a session: its soul, scope and skills."""
    return SessionPersonaView.of(services.sessions.get(session_id))


@router.post(ONE + "/persona", operation_id="sessions.bind_persona" + POST_TWIN)
@router.put(ONE + "/persona", operation_id="sessions.bind_persona")
@operator()
def bind_persona(
    session_id: SessionId, body: BindPersona, services: Services, caller: Caller
) -> SessionView:
    """Copy the persona as it is now into an idle session."""
    return _view(services, services.sessions.bind_persona(caller, session_id, body.persona_id))


@router.delete(ONE + "/persona", operation_id="sessions.clear_persona")
@operator()
def clear_persona(session_id: SessionId, services: Services, caller: Caller) -> SessionView:
    """Remove the persona from an idle session."""
    return _view(services, services.sessions.clear_persona(caller, session_id))


@router.get(ONE + "/active-skills", operation_id="sessions.active_skills")
@viewer()
def active_skills(
    session_id: SessionId, services: Services, caller: Caller, page: Paging
) -> Page[ActiveSkillStanding]:
    """List the skills that are active in a session, and what the next prompt has of them."""
    return Page.cut(_standings(services, caller, services.sessions.get(session_id)), page)


@router.post(ONE + "/active-skills", operation_id="sessions.activate_skill")
@operator()
def activate_skill(
    session_id: SessionId,
    body: ActivateSkill,
    services: Services,
    caller: Caller,
) -> ActiveSkillStanding:
    """Activate a skill in an idle session: each prompt carries its served version."""
    wanted = DefaultSkill(name=body.name, args=body.args)
    changed = services.sessions.activate_skill(caller, session_id, wanted)
    return _standings(services, caller, changed)[-1]


@router.delete(ONE + "/active-skills", operation_id="sessions.deactivate_skill")
@operator()
def deactivate_skill(
    session_id: SessionId,
    services: Services,
    caller: Caller,
    name: Annotated[str, Query(description="its slug, id or name; `*` for all of them")] = ALL,
) -> SessionView:
    """Deactivate a skill in an idle session."""
    drop = partial(without, name=name)
    changed = services.sessions.deactivate_skills(caller, session_id, drop, reason=name)
    return _view(services, changed)


@router.post(ONE + "/capability-scope", operation_id="sessions.set_capability_scope" + POST_TWIN)
@router.put(ONE + "/capability-scope", operation_id="sessions.set_capability_scope")
@operator()
def set_capability_scope(
    session_id: SessionId, body: SetCapabilityScope, services: Services, caller: Caller
) -> SessionView:
    """Narrow what an idle session may see."""
    scope = body.capability_scope
    changed = services.sessions.set_capability_scope(caller, session_id, scope)
    return _view(services, changed, services.sessions.warnings(caller, changed))


@router.delete(ONE + "/capability-scope", operation_id="sessions.clear_capability_scope")
@operator(action="sessions.set_capability_scope")
def clear_capability_scope(
    session_id: SessionId, services: Services, caller: Caller
) -> SessionView:
    """Remove the capability scope of an idle session; the persona's stays."""
    return _view(services, services.sessions.set_capability_scope(caller, session_id, None))


@router.post(ONE + "/credential-scope", operation_id="sessions.set_credential_scope" + POST_TWIN)
@router.put(ONE + "/credential-scope", operation_id="sessions.set_credential_scope")
@operator()
def set_credential_scope(
    session_id: SessionId, body: SetCredentialScope, services: Services, caller: Caller
) -> SessionView:
    """Narrow which credentials an idle session may use."""
    scope = body.credential_scope
    return _view(services, services.sessions.set_credential_scope(caller, session_id, scope))


@router.delete(ONE + "/credential-scope", operation_id="sessions.clear_credential_scope")
@operator(action="sessions.set_credential_scope")
def clear_credential_scope(
    session_id: SessionId, services: Services, caller: Caller
) -> SessionView:
    """Remove the credential scope of an idle session."""
    return _view(services, services.sessions.set_credential_scope(caller, session_id, None))


@router.post(ONE + "/route-policy", operation_id="sessions.set_route_policy" + POST_TWIN)
@router.put(ONE + "/route-policy", operation_id="sessions.set_route_policy")
@operator()
def set_route_policy(
    session_id: SessionId, body: SetRoutePolicy, services: Services, caller: Caller
) -> SessionView:
    """Choose the route of future runs; runs already submitted keep theirs."""
    wanted = body.route_policy
    settings = wanted.generation.settings() if wanted.generation else {}
    policy = RoutePolicy(provider=wanted.provider, generation=settings)
    return _view(services, services.sessions.set_route_policy(caller, session_id, policy))


@router.delete(ONE + "/route-policy", operation_id="sessions.clear_route_policy")
@operator(action="sessions.set_route_policy")
def clear_route_policy(session_id: SessionId, services: Services, caller: Caller) -> SessionView:
    """Let future runs take the default route."""
    return _view(services, services.sessions.set_route_policy(caller, session_id, None))


@router.get(ONE + "/reply-targets", operation_id="sessions.reply_targets")
@viewer()
def get_reply_targets(session_id: SessionId, services: Services) -> ReplyTargetsView:
    """Show where the outputs of future runs are delivered."""
    return reply_targets_view(services.sessions.get(session_id))


@router.post(ONE + "/reply-targets", operation_id="sessions.set_reply_targets" + POST_TWIN)
@router.put(ONE + "/reply-targets", operation_id="sessions.set_reply_targets")
@operator()
def set_reply_targets(
    session_id: SessionId, body: SetReplyTargets, services: Services, caller: Caller
) -> SessionView:
    """Choose where outputs of future runs are delivered; runs already submitted keep theirs."""
    targets = tuple(ReplyTarget(**target.model_dump()) for target in body.reply_targets)
    session = services.sessions.set_reply_targets(caller, session_id, check_reply_targets(targets))
    return _view(services, session)


@router.delete(ONE + "/reply-targets", operation_id="sessions.clear_reply_targets")
@operator(action="sessions.set_reply_targets")
def clear_reply_targets(session_id: SessionId, services: Services, caller: Caller) -> SessionView:
    """Deliver the outputs of future runs nowhere."""
    return _view(services, services.sessions.set_reply_targets(caller, session_id, ()))


@router.get(ONE + "/bindings", operation_id="sessions.bindings")
@viewer()
def bindings(session_id: SessionId, services: Services, page: Paging) -> Page[SessionBinding]:
    """List the keys of callers that stand for a session."""
    return Bindings(services.resources.units).page(session_id, page)


@router.post(ONE + "/end", operation_id="sessions.end")
@operator()
def end(
    session_id: SessionId, services: Services, caller: Caller, body: EndSession | None = None
) -> SessionView:
    """Close an idle session to new runs."""
    return _view(services, services.sessions.end(caller, session_id, body.reason if body else None))


@router.post(ONE + "/interrupt", operation_id="runs.interrupt")
@operator()
def interrupt(session_id: SessionId, services: Services, caller: Caller) -> InterruptView:
    """Stop what the session is doing now; its queued runs go on."""
    stopped = services.runs.service.interrupt(caller, session_id)
    with services.resources.units.read() as unit:
        session = require_session(unit, session_id)
        return InterruptView(interrupted=stopped is not None, snapshot=snapshot_view(unit, session))


@router.get(ONE + "/events", operation_id="sessions.events")
@viewer()
def events(
    session_id: SessionId,
    services: Services,
    page: Paging,
    after: Annotated[int | None, Query(ge=0, le=2**62, description="a journal offset")] = None,
    run_id: Annotated[str | None, Query(description="only of this run")] = None,
    kind: Annotated[list[EventKind] | None, Query(description="one or more")] = None,
) -> SessionEventsView:
    """Show the journal of a session, in order."""
    offset = max(after or 0, offset_of(page))
    with services.resources.units.read() as unit:
        session = require_session(unit, session_id)
        found = unit.journal.page(
            session_id=session_id,
            run_id=run_id,
            after_offset=offset,
            kinds=tuple(kind or ()),
            limit=page.limit,
        )
        return session_events_view(unit, session, found)
