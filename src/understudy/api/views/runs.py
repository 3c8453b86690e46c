"""Runs, their events, and the approvals and questions they wait for, as the API shows them."""

from typing import Any, Final

from understudy.core.principal import Principal
from understudy.permissions.rules import write_rules
from understudy.runs.approvals import session_rule
from understudy.runs.deliveries import shown_deliveries
from understudy.runs.lifecycle import TERMINAL
from understudy.runs.model import Run
from understudy.runs.requests import PersonRequest, RequestKind, RequestState, actions_of, shown
from understudy.runs.service import RunDetail
from understudy.sessions.journal import EventKind, JournalEvent
from understudy.wire.approvals import ApprovalView, QuestionView
from understudy.wire.events import RunEventView
from understudy.wire.replies import OutputView
from understudy.wire.runs import RunRequestView, RunView

# Fields of an event's data that its envelope already has.
LOCATED: Final = frozenset({"agent_id"})

# The preview length of texts in lists and runs; the approval itself has the full text.
PREVIEW_CHARS: Final = 4_000


def run_view(detail: RunDetail, reader: Principal) -> RunView:
    """A run in its current state."""
    run = detail.run
    approvals = [each for each in detail.pending if each.kind is RequestKind.APPROVAL]
    questions = [each for each in detail.pending if each.kind is RequestKind.QUESTION]
    return RunView.of(
        run,
        queued_position=detail.queued_position,
        request=_request(run, approvals=len(approvals), questions=len(questions)),
        input_attachments=[item.asset_id for item in run.input.items if item.asset_id],
        input_metadata=dict(run.input.metadata) if run.input.metadata else None,
        pending_approval_ids=[each.request_id for each in approvals],
        pending_approvals=[approval_preview(each, reader) for each in approvals],
        pending_question_ids=[each.request_id for each in questions],
        pending_questions=[question_view(each, reader) for each in questions],
        outputs=[output_view(event) for event in detail.outputs],
        remembered=list(detail.remembered),
        deliveries=list(shown_deliveries(run, detail.sent)),
        actions=[] if run.status in TERMINAL else ["cancel"],
    )


def _request(run: Run, *, approvals: int, questions: int) -> RunRequestView:
    return RunRequestView.of(
        run.request,
        provider=run.route.route_id,
        model=run.route.model,
        approval_count=approvals or None,
        question_count=questions or None,
    )


def step_of(event: JournalEvent) -> int | None:
    """The step of an event; None if it is damaged."""
    step = event.data.get("step")
    return step if type(step) is int else None


def output_view(event: JournalEvent, *, run_id: str | None = None) -> OutputView:
    """An output."""
    return OutputView(
        text=str(event.data.get("text", "")),
        at_ms=event.at_ms,
        step=step_of(event),
        run_id=run_id,
    )


def run_event_view(event: JournalEvent, *, agent_id: str) -> RunEventView:
    """One event of a run."""
    return RunEventView(
        timestamp_ms=event.at_ms,
        run_id=event.run_id or "",
        session_id=event.session_id,
        agent_id=str(event.data.get("agent_id", agent_id)),
        event=event_body(event),
    )


def event_body(event: JournalEvent) -> dict[str, Any]:
    """The data of an event, with its `type`."""
    if event.kind is EventKind.OUTPUT:
        return {"type": "output", "output": output_view(event).model_dump()}
    return {name: value for name, value in event.data.items() if name not in LOCATED}


def approval_view(request: PersonRequest, reader: Principal) -> ApprovalView:
    """An approval or an offer, pending or decided."""
    return ApprovalView(**_shown(request), actions=[*actions_of(request, reader)])


def approval_preview(request: PersonRequest, reader: Principal) -> ApprovalView:
    """An approval with long texts truncated, for lists."""
    view = _shown(request)
    shortened = _shortened(view["input"])
    is_cut = shortened != view["input"]
    return ApprovalView(
        **{**view, "input": shortened},
        input_cut=is_cut or None,
        actions=[*actions_of(request, reader)],
    )


def _shown(request: PersonRequest) -> dict[str, Any]:
    is_call = request.kind is RequestKind.APPROVAL and request.state is RequestState.PENDING
    rule = session_rule(request) if is_call else None
    added = {"session_rule": write_rules((rule,))[0]} if rule else {}
    return {**shown(request), "kind": str(request.kind), **added}


def _shortened(value: Any) -> Any:
    match value:
        case str() if len(value) > PREVIEW_CHARS:
            return f"{value[:PREVIEW_CHARS]}… [{len(value)} characters in all]"
        case dict():
            return {name: _shortened(each) for name, each in value.items()}
        case list():
            return [_shortened(each) for each in value]
        case _:
            return value


def question_view(request: PersonRequest, reader: Principal) -> QuestionView:
    """Questions, pending or answered."""
    return QuestionView(
        **shown(request),
        audience=request.audience,
        actions=[*actions_of(request, reader)],
    )
