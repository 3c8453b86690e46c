"""The second person of a change: the first call waits, the same call of somebody else does it."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fastapi.encoders import jsonable_encoder
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from understudy.api.operations import Operation
from understudy.api.services import principal_of
from understudy.core import audit
from understudy.core.errors import Invalid, coded_error
from understudy.core.ids import new_id
from understudy.core.page import PageRequest
from understudy.core.principal import Principal
from understudy.core.records import reduced
from understudy.runs.submission import fingerprint
from understudy.runtime.service import current_revision
from understudy.runtime.two_people import (
    KEPT_MS,
    SecondApproval,
    TwoApprovers,
    WaitingForSecond,
    person_of,
    required,
)

if TYPE_CHECKING:
    from understudy.daemon.services import Services
    from understudy.storage.unit import Unit

ACCEPTED = 202


async def with_second(
    request: Request,
    services: "Services",
    operation: Operation,
    name: str,
    act: Callable[[], Awaitable[Response]],
) -> Response:
    """Do what a request asks for, or note that it waits for a second person."""
    body = getattr(request.state, "body", None)
    if operation.two is None or not operation.two_if(body):
        return await act()
    change = _Change(
        services=services,
        principal=principal_of(request),
        subject=operation.two,
        operation=name,
        values={**request.query_params, **request.path_params},
        body=body,
    )
    found = await run_in_threadpool(change.decide)
    if found is None:
        return await act()
    waiting, is_second = found
    if not is_second:
        told = reduced(WaitingForSecond, waiting)
        return JSONResponse(jsonable_encoder(told), status_code=ACCEPTED)
    try:
        return await act()
    except (Invalid, RequestValidationError):
        # What cannot be done as it stands does not wait for a third person.
        raise
    except Exception:
        await run_in_threadpool(change.put_back, waiting)
        raise


@dataclass(frozen=True, slots=True, kw_only=True)
class _Change:
    """A change that may need two people, as somebody asks for it."""

    services: "Services"
    principal: Principal
    subject: TwoApprovers
    operation: str
    values: dict[str, Any]
    body: Any

    def decide(self) -> tuple[SecondApproval, bool] | None:
        """None when one person is enough; else what waits, and whether this is the second."""
        resources = self.services.resources
        now = resources.clock.now_ms()
        with resources.units.write() as unit:
            if self.subject not in required(current_revision(unit).document):
                return None
            person = person_of(self.principal)
            if person in self._proposers(unit):
                raise coded_error("two_approvers/proposer_does_not_count", user_id=person)
            unit.second_approvals.sweep(now_ms=now)
            mark = fingerprint(self.operation, {"values": self.values, "body": self.body})
            waiting = unit.second_approvals.same(mark, now_ms=now)
            if waiting is None:
                waiting = self._first(unit, person, mark, now)
            elif waiting.first_by != person:
                if not unit.second_approvals.take(waiting.approval_id):
                    raise coded_error("two_approvers/approval_not_found", approval_id="")
                both = f"{waiting.operation}: first {waiting.first_by}, second {person}"
                self._audit(unit, "second_approvals.approve", waiting, both, now)
                return waiting, True
            return waiting, False

    def put_back(self, waiting: SecondApproval) -> None:
        """Let a change wait again that came to nothing."""
        with self.services.resources.units.write() as unit:
            unit.second_approvals.put(waiting)

    def _first(self, unit: "Unit", person: str, mark: str, now: int) -> SecondApproval:
        waiting = SecondApproval(
            approval_id=new_id("two"),
            subject=self.subject,
            operation=self.operation,
            values=self.values,
            body=self.body,
            first_by=person,
            created_at_ms=now,
            expires_at_ms=now + KEPT_MS,
            fingerprint=mark,
        )
        unit.second_approvals.put(waiting)
        self._audit(
            unit, "second_approvals.wait", waiting, f"{self.operation}: first {person}", now
        )
        return waiting

    def _audit(
        self, unit: "Unit", action: str, waiting: SecondApproval, reason: str, now: int
    ) -> None:
        unit.audit.add(
            audit.done(self.principal, action, waiting.approval_id, at_ms=now, reason=reason)
        )

    def _proposers(self, unit: "Unit") -> frozenset[str]:
        """Who made what is to be activated: their word is not asked for."""
        if self.subject is not TwoApprovers.SKILL_ACTIVATION:
            return frozenset()
        actors: list[str] = []
        if "skill_name" in self.values:
            events = unit.rollouts.events(str(self.values["skill_name"]), PageRequest(limit=1))
            actors += (event.actor for event in events.items)
        ref = str(self.values.get("skill_id", ""))
        skill = unit.skills.get(ref) or unit.skills.by_slug(ref)
        if skill is not None:
            number = int(self.values.get("version", 0) or 0) or skill.version
            version = unit.skills.version(skill.skill_id, number)
            actors += [version.actor] if version is not None else []
        # `ada as bob` is Ada.
        return frozenset(actor.partition(" as ")[0] for actor in actors)
