"""Runs and their events as the wire shows them."""

import math
from dataclasses import asdict
from typing import Any, Final

from understudy.api.views.waiting import approval_preview, question_view
from understudy.core.principal import Principal
from understudy.runs.deliveries import shown_deliveries
from understudy.runs.detail import RunDetail
from understudy.runs.lifecycle import TERMINAL
from understudy.runs.model import DebugRequest, Delivery, Run
from understudy.runs.requests import RequestKind
from understudy.sessions.journal import EventKind, JournalEvent
from understudy.wire.events import RunEventView
from understudy.wire.replies import DeliveryView, OutputView
from understudy.wire.runs import DebugRequestView, RunRequestView, RunView, UsageView

# Parts of an event's data that the envelope around it already tells.
LOCATED: Final = frozenset({"agent_id"})


def run_view(detail: RunDetail, reader: Principal) -> RunView:
    """A run as it stands."""
    run = detail.run
    approvals = [each for each in detail.pending if each.kind is RequestKind.APPROVAL]
    questions = [each for each in detail.pending if each.kind is RequestKind.QUESTION]
    return RunView(
        run_id=run.run_id,
        session_id=run.session_id,
        agent_id=run.agent_id,
        user_id=run.user_id,
        kind=run.kind,
        status=run.status.value,
        submitted_at_ms=run.submitted_at_ms,
        updated_at_ms=run.updated_at_ms,
        started_at_ms=run.started_at_ms,
        finished_at_ms=run.finished_at_ms,
        queued_position=detail.queued_position,
        locale=run.locale,
        request=_request(run, approvals=len(approvals), questions=len(questions)),
        input_attachments=[item.asset_id for item in run.input.items if item.asset_id],
        input_metadata=dict(run.input.metadata) if run.input.metadata else None,
        pending_approval_ids=[each.request_id for each in approvals],
        pending_approvals=[approval_preview(each, reader) for each in approvals],
        pending_question_ids=[each.request_id for each in questions],
        pending_questions=[question_view(each, reader) for each in questions],
        outputs=[output_view(event) for event in detail.outputs],
        deliveries=[delivery_view(delivery) for delivery in shown_deliveries(run, detail.sent)],
        error=None if run.error is None else str(run.error),
        usage=UsageView(**{name: count(value) for name, value in asdict(run.usage).items()}),
        skill_fingerprint=run.skill_fingerprint,
        trial_id=run.trial_id,
        actions=[] if run.status in TERMINAL else ["cancel"],
    )


def _request(run: Run, *, approvals: int, questions: int) -> RunRequestView:
    return RunRequestView(
        source_plugin=run.request.source_plugin,
        source_kind=run.request.source_kind,
        actor_id=run.request.actor_id,
        text_preview=run.request.text_preview,
        provider=run.route.route_id,
        model=run.route.model,
        approval_count=approvals or None,
        question_count=questions or None,
    )


def delivery_view(delivery: Delivery) -> DeliveryView:
    """How an output fared on its way to one reply target."""
    return DeliveryView(
        plugin=str(delivery.plugin),
        address=str(delivery.address),
        status=str(delivery.status),
        attempts=count(delivery.attempts),
        delivery_id=delivery.delivery_id,
        next_attempt_at_ms=delivery.next_attempt_at_ms,
        delivered_at_ms=delivery.delivered_at_ms,
        last_error=delivery.last_error,
    )


def count(value: object) -> int:
    """A stored count as a whole number; what is none counts as nothing."""
    match value:
        case int():
            return int(value)
        case float() if math.isfinite(value):
            return int(value)
        case _:
            return 0


def step_of(event: JournalEvent) -> int | None:
    """The step of a run that an event belongs to; None when that is damaged."""
    step = event.data.get("step")
    return step if type(step) is int else None


def output_view(event: JournalEvent, *, run_id: str | None = None) -> OutputView:
    """A text for the user."""
    return OutputView(
        text=str(event.data.get("text", "")),
        at_ms=event.at_ms,
        step=step_of(event),
        run_id=run_id,
    )


def run_event_view(event: JournalEvent, *, agent_id: str) -> RunEventView:
    """One event in the life of a run."""
    return RunEventView(
        timestamp_ms=event.at_ms,
        run_id=event.run_id or "",
        session_id=event.session_id,
        agent_id=str(event.data.get("agent_id", agent_id)),
        event=event_body(event),
    )


def event_body(event: JournalEvent) -> dict[str, Any]:
    """What happened, with its `type`."""
    if event.kind is EventKind.OUTPUT:
        return {"type": "output", "output": output_view(event).model_dump()}
    return {name: value for name, value in event.data.items() if name not in LOCATED}


def debug_view(capture: DebugRequest) -> DebugRequestView:
    """A captured provider request."""
    return DebugRequestView(
        run_id=capture.run_id,
        step=capture.step,
        attempt=capture.attempt,
        at_ms=capture.at_ms,
        request=dict(capture.request),
        response=None if capture.response is None else dict(capture.response),
    )
