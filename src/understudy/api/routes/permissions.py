"""Permission rules of the daemon and of a session."""

from collections.abc import Iterable
from typing import Final

from fastapi import APIRouter

from understudy.api.gate import GatedRoute
from understudy.api.operations import POST_TWIN, admin, operator, viewer
from understudy.api.services import Caller, Services, SessionId
from understudy.permissions.model import CallRule
from understudy.permissions.rules import read_rules, read_session_rules
from understudy.runtime.service import Revision
from understudy.runtime.two_people import TwoApprovers
from understudy.sessions.model import Session
from understudy.wire.permissions import (
    PermissionRule,
    PermissionsView,
    SessionPermissionsView,
    SetPermissions,
    SetSessionPermissions,
)

router = APIRouter(tags=["permissions"], route_class=GatedRoute)
OF_SESSION: Final = "/v1/sessions/{session_id}/permissions"


@router.get("/v1/permissions", operation_id="permissions.get")
@viewer()
def get_permissions(services: Services) -> PermissionsView:
    """Show the rules that hold for every agent."""
    return _view(*services.daemon_rules.current())


@router.put("/v1/permissions", operation_id="permissions.set")
@admin(two=TwoApprovers.POLICY_CHANGE, action="runtime.change")
def set_permissions(body: SetPermissions, services: Services, caller: Caller) -> PermissionsView:
    """Replace the rules that hold for every agent; the next tool call sees them."""
    changed = services.daemon_rules.replace(
        caller, _rules(body.rules), expected_revision=body.expected_revision
    )
    return _view(*changed)


@router.get(OF_SESSION, operation_id="sessions.permissions")
@viewer()
def get_session_permissions(session_id: SessionId, services: Services) -> SessionPermissionsView:
    """Show the rules of a session, and those inherited from its parent."""
    return _session_view(services.sessions.get(session_id))


@router.post(OF_SESSION, operation_id="sessions.set_permissions" + POST_TWIN)
@router.put(OF_SESSION, operation_id="sessions.set_permissions")
@operator()
def set_session_permissions(
    session_id: SessionId, body: SetSessionPermissions, services: Services, caller: Caller
) -> SessionPermissionsView:
    """Replace the rules of a session, also while it is busy; the next tool call sees them."""
    rules = _rules(body.rules)
    return _session_view(services.sessions.set_permissions(caller, session_id, rules))


@router.delete(OF_SESSION, operation_id="sessions.clear_permissions")
@operator(action="sessions.set_permissions")
def clear_session_permissions(
    session_id: SessionId, services: Services, caller: Caller
) -> SessionPermissionsView:
    """Remove the session's own rules; those inherited from its parent stay."""
    return _session_view(services.sessions.set_permissions(caller, session_id, ()))


def _rules(given: Iterable[PermissionRule]) -> tuple[CallRule, ...]:
    """The validated rules of a request."""
    return read_rules([rule.model_dump(exclude_none=True) for rule in given])


def _view(revision: Revision, rules: Iterable[CallRule]) -> PermissionsView:
    return PermissionsView.of(revision, rules=list(rules))


def _session_view(session: Session) -> SessionPermissionsView:
    kept = read_session_rules(session.permissions)
    return SessionPermissionsView(
        session_id=session.session_id, rules=list(kept.own), inherited=list(kept.inherited)
    )
