"""Structured questions of a run to people, or of a sidechain to its parent."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from understudy.core import audit
from understudy.core.clock import Clock
from understudy.core.errors import coded_error
from understudy.core.principal import Principal
from understudy.runs.answers import QuestionResolution, check_answers
from understudy.runs.expiry import expire_due
from understudy.runs.lifecycle import TERMINAL, run_event
from understudy.runs.model import Run, StopRequest, require_run
from understudy.runs.open_requests import RequestReader, RunPlace
from understudy.runs.requests import (
    REQUEST,
    Audience,
    PersonRequest,
    RequestKind,
    RequestState,
)
from understudy.runs.service import RunDetail, detail_of
from understudy.runs.sleep import go_on_or_wait, stop
from understudy.runs.submission import keep_receipt, known_run, receipt_for

if TYPE_CHECKING:
    from understudy.storage.unit import Unit, Units

RESOLVED_EVENT: Final[Mapping[Audience, str]] = {
    Audience.USER: "user_question_resolved",
    Audience.PARENT: "parent_clarification_resolved",
}


@dataclass(frozen=True, slots=True)
class QuestionService:
    """Lists, answers and cancels questions."""

    units: "Units"
    clock: Clock

    @property
    def reader(self) -> RequestReader:
        """The reader of questions."""
        return RequestReader(self.units, self.clock, RequestKind.QUESTION)

    def resolve(
        self,
        principal: Principal,
        place: RunPlace,
        resolution: QuestionResolution,
        *,
        idempotency_key: str | None = None,
    ) -> RunDetail:
        """Answer or decline one request of a run; after the last one the run is woken."""
        expire_due(self.units, self.clock)
        now = self.clock.now_ms()
        asked = {**place.asked(), "resolution": asdict(resolution)}
        receipt = receipt_for(principal, "questions.resolve", asked, key=idempotency_key, at_ms=now)
        with self.units.write() as unit:
            if (known := known_run(unit, receipt)) is not None:
                return detail_of(unit, known)
            run = self.reader.waiting_run(unit, place, [resolution.request_id])
            # Checked again: a concurrent request under the same key may have won the row lock.
            if (known := known_run(unit, receipt)) is not None:
                return detail_of(unit, known)
            run = answer(unit, run, resolution, actor=principal.actor, at_ms=now)
            said = RequestState.DECLINED if resolution.declined else RequestState.ANSWERED
            unit.audit.add(
                audit.done(
                    principal,
                    "questions.resolve",
                    resolution.request_id,
                    at_ms=now,
                    reason=f"{said} in {run.run_id}",
                )
            )
            keep_receipt(unit, receipt, run)
            return detail_of(unit, run)

    def cancel(
        self,
        principal: Principal,
        run_id: str,
        request_id: str,
        *,
        idempotency_key: str | None = None,
    ) -> RunDetail:
        """Cancel a question, and with it the run that needs its answer.

        A sidechain continues: no answer counts as an answer, as when its question expires.
        """
        now = self.clock.now_ms()
        asked = {"run_id": run_id, "request_id": request_id}
        receipt = receipt_for(principal, "questions.cancel", asked, key=idempotency_key, at_ms=now)
        with self.units.write() as unit:
            run = require_run(unit, run_id, lock=True)
            if (known := known_run(unit, receipt)) is not None:
                return detail_of(unit, known)
            self.reader.require(unit, request_id)
            request = _open_question(unit, run, request_id)
            if request.audience is Audience.PARENT:
                declined = QuestionResolution(request_id=request_id, declined=True)
                run = answer(unit, run, declined, actor=principal.actor, at_ms=now)
            else:
                run = _withdraw(unit, run, request, actor=principal.actor, at_ms=now)
            unit.audit.add(audit.done(principal, "questions.cancel", request_id, at_ms=now))
            keep_receipt(unit, receipt, run)
            return detail_of(unit, run)


def answer(
    unit: "Unit", run: Run, resolution: QuestionResolution, *, actor: str, at_ms: int
) -> Run:
    """Resolve a question of a locked run, for a person or a parent run."""
    request = _open_question(unit, run, resolution.request_id)
    check_answers(request.body["questions"], resolution)
    state = RequestState.DECLINED if resolution.declined else RequestState.ANSWERED
    REQUEST.check(request.state, state)
    told = _told(resolution)
    unit.requests.settle(
        replace(request, state=state, resolution=told, resolved_by=actor, resolved_at_ms=at_ms)
    )
    event = run_event(run, RESOLVED_EVENT[request.audience], run.status, resolution=told)
    unit.journal.append(run.session_id, (event,), at_ms=at_ms)
    return go_on_or_wait(unit, run, at_ms=at_ms)


def _withdraw(unit: "Unit", run: Run, request: PersonRequest, *, actor: str, at_ms: int) -> Run:
    unit.requests.settle(
        replace(request, state=RequestState.CANCELLED, resolved_by=actor, resolved_at_ms=at_ms)
    )
    reason = f"question {request.request_id} was cancelled by {actor}"
    return stop(unit, run, StopRequest.CANCEL, at_ms=at_ms, error=reason)


def _told(resolution: QuestionResolution) -> dict[str, Any]:
    told: dict[str, Any] = {
        "request_id": resolution.request_id,
        "answers": [
            {
                "question_id": each.question_id,
                "selected_option_ids": list(each.selected_option_ids),
                **({"freeform_answer": each.freeform_answer} if each.freeform_answer else {}),
            }
            for each in resolution.answers
        ],
        "declined": resolution.declined,
    }
    if resolution.justification:
        told["justification"] = resolution.justification
    return told


def _open_question(unit: "Unit", run: Run, request_id: str) -> PersonRequest:
    """The pending question of this run, or the error that prevents an answer."""
    request = unit.requests.get(request_id)
    if request is not None and request.run_id == run.run_id:
        if request.state is RequestState.EXPIRED:
            raise coded_error("questions/question_expired")
        if request.state is not RequestState.PENDING:
            raise coded_error("questions/question_state_conflict:settled", state=request.state)
    if run.status in TERMINAL or run.stop_request is not None:
        raise coded_error("questions/question_state_conflict:run", status=run.status)
    if request is None or request.kind is not RequestKind.QUESTION:
        raise coded_error(
            "questions/question_request_mismatch",
            pointer="/resolution/request_id",
            request_id=request_id,
        )
    if request.run_id != run.run_id:
        raise coded_error(
            "questions/question_resolution_conflict",
            request_id=request_id,
        )
    return request
