"""Pending changes that need a second approver."""

import json
from typing import Annotated, cast

from fastapi import APIRouter, Path, Request, Response

from understudy.api.gate import GatedRoute
from understudy.api.in_process import InProcessCalls, OperationRefused
from understudy.api.operations import operator, viewer
from understudy.api.paging import Paging
from understudy.api.services import Caller, Services
from understudy.core import audit
from understudy.core.errors import coded_error
from understudy.core.page import Page
from understudy.core.principal import Principal, Role
from understudy.i18n.locales import current_locale
from understudy.inbox.second_approvals import answering, current_page, is_current
from understudy.runtime.two_people import SecondApproval, SecondApproved, person_of
from understudy.wire.base import Deleted
from understudy.wire.problem import MEDIA_TYPE

router = APIRouter(tags=["second approvals"], route_class=GatedRoute)
ALL = "/v1/second-approvals"
ApprovalId = Annotated[str, Path(description="id of the waiting change")]


@router.get(ALL, operation_id="second_approvals.list")
@viewer()
def list_waiting(services: Services, caller: Caller, page: Paging) -> Page[SecondApproval]:
    """List changes that wait for people to approve them, oldest first."""
    with services.resources.units.read() as unit:
        return current_page(unit, caller, page, now_ms=services.resources.clock.now_ms())


@router.get(ALL + "/{approval_id}", operation_id="second_approvals.get")
@viewer()
def get_waiting(approval_id: ApprovalId, services: Services, caller: Caller) -> SecondApproval:
    """Show a change that waits, with its effect."""
    return _waiting(services, caller, approval_id)


@router.post(ALL + "/{approval_id}/approve", operation_id="second_approvals.approve")
@operator()
async def approve(
    approval_id: ApprovalId, services: Services, caller: Caller, request: Request
) -> SecondApproved:
    """Approve a waiting change: the same call again, with the caller's role. The second person makes it."""
    waiting = _waiting(services, caller, approval_id)
    person = person_of(caller)
    if person == waiting.proposed_by:
        raise coded_error("two_approvers/proposer_does_not_count", user_id=person)
    if person == waiting.first_by:
        raise coded_error("two_approvers/second_is_first", user_id=person)
    values = {name: str(value) for name, value in waiting.values.items()}
    try:
        with answering(approval_id):
            answer = await InProcessCalls(request.app).call(
                caller, waiting.operation, values, body=waiting.body, language=current_locale.get()
            )
    except OperationRefused as refused:
        told = json.dumps(refused.problem)
        problem = Response(told, status_code=refused.status, media_type=MEDIA_TYPE)
        return cast("SecondApproved", problem)
    return SecondApproved(
        approval_id=approval_id,
        operation=waiting.operation,
        done=_waiting_or_none(services, caller, approval_id) is None,
        answer=answer or {},
    )


@router.post(ALL + "/{approval_id}/withdraw", operation_id="second_approvals.withdraw")
@operator()
def withdraw(approval_id: ApprovalId, services: Services, caller: Caller) -> Deleted:
    """Withdraw a waiting change: for its author, or an admin."""
    waiting = _waiting(services, caller, approval_id)
    if person_of(caller) not in (waiting.proposed_by, waiting.first_by):
        caller.require(Role.ADMIN)
    with services.resources.units.write() as unit:
        if unit.second_approvals.take(approval_id):
            begun_by = waiting.proposed_by or waiting.first_by
            reason = f"{waiting.operation}: begun by {begun_by}"
            now = services.resources.clock.now_ms()
            unit.audit.add(
                audit.done(
                    caller, "second_approvals.withdraw", approval_id, at_ms=now, reason=reason
                )
            )
    return Deleted()


def _waiting_or_none(
    services: Services, caller: Principal, approval_id: str
) -> SecondApproval | None:
    with services.resources.units.read() as unit:
        now = services.resources.clock.now_ms()
        waiting = unit.second_approvals.get(approval_id, now_ms=now)
        return waiting if waiting is not None and is_current(unit, waiting, caller) else None


def _waiting(services: Services, caller: Principal, approval_id: str) -> SecondApproval:
    waiting = _waiting_or_none(services, caller, approval_id)
    if waiting is None:
        raise coded_error("two_approvers/approval_not_found", approval_id=approval_id)
    return waiting
