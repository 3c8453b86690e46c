"""Calls about what runs wait for: approvals and questions."""

from collections.abc import Iterator, Sequence
from typing import TypedDict, Unpack

from understudy.client.calls import at, get, given, post
from understudy.client.groups.resource import Resource, body, every
from understudy.wire.base import Items
from understudy.wire.runs import RunView
from understudy.wire.sessions import SessionView
from understudy.wire.waiting import (
    AnswerBody,
    ApprovalResolution,
    ApprovalView,
    QuestionResolutionBody,
    QuestionView,
    ResolveApprovals,
    ResolveQuestion,
)

_run = RunView.model_validate
_session = SessionView.model_validate
_approval = ApprovalView.model_validate
_question = QuestionView.model_validate
Resolutions = Sequence[ApprovalResolution]


class Which(TypedDict, total=False):
    """Which requests a list shows; those that wait where neither a state nor everything is asked."""

    session_id: str | None
    run_id: str | None
    state: str | None
    everything: bool


class Approvals(Resource):
    """Tool calls that wait for a person to agree, and offers that are open."""

    def get(self, request_id: str) -> ApprovalView:
        """One approval."""
        return self.transport.send(get(at("approvals", request_id), _approval))

    def page(
        self, *, limit: int | None = None, cursor: str | None = None, **which: Unpack[Which]
    ) -> Items[ApprovalView]:
        """Some approvals, oldest first."""
        read = Items[ApprovalView].model_validate
        query = _query(which, limit, cursor)
        return self.transport.send(get(at("approvals"), read, **query))

    def list(self, **which: Unpack[Which]) -> Iterator[ApprovalView]:
        """All approvals, oldest first."""
        return every(lambda cursor: self.page(cursor=cursor, **which))

    def resolve(self, run_id: str, resolutions: Resolutions, *, key: str | None = None) -> RunView:
        """Allow or deny tool calls of a run, and answer its offers: all or none."""
        path = at("runs", run_id, "approvals")
        return self.transport.send(post(path, _run, _batch(resolutions), key=key))

    def resolve_in_session(
        self, session_id: str, resolutions: Resolutions, *, key: str | None = None
    ) -> RunView:
        """The same for the run that a session is at."""
        path = at("sessions", session_id, "approval-runs")
        return self.transport.send(post(path, _run, _batch(resolutions), key=key))

    def resolve_inline(
        self, session_id: str, resolutions: Resolutions, *, key: str | None = None
    ) -> SessionView:
        """The same, answered when the run has ended or waits again."""
        path = at("sessions", session_id, "approvals")
        return self.transport.send(post(path, _session, _batch(resolutions), key=key))


class Questions(Resource):
    """What runs ask people."""

    def get(self, request_id: str) -> QuestionView:
        """One question."""
        return self.transport.send(get(at("questions", request_id), _question))

    def page(
        self, *, limit: int | None = None, cursor: str | None = None, **which: Unpack[Which]
    ) -> Items[QuestionView]:
        """Some questions, oldest first."""
        read = Items[QuestionView].model_validate
        query = _query(which, limit, cursor)
        return self.transport.send(get(at("questions"), read, **query))

    def list(self, **which: Unpack[Which]) -> Iterator[QuestionView]:
        """All questions, oldest first."""
        return every(lambda cursor: self.page(cursor=cursor, **which))

    def resolve(
        self, run_id: str, resolution: QuestionResolutionBody, *, key: str | None = None
    ) -> RunView:
        """Answer or decline a question of a run; with the last one it goes on."""
        path = at("runs", run_id, "questions")
        fields = body(ResolveQuestion(resolution=resolution))
        return self.transport.send(post(path, _run, fields, key=key))

    def resolve_inline(
        self, session_id: str, resolution: QuestionResolutionBody, *, key: str | None = None
    ) -> SessionView:
        """The same for the run a session is at, answered when it has ended or waits again."""
        path = at("sessions", session_id, "questions")
        fields = body(ResolveQuestion(resolution=resolution))
        return self.transport.send(post(path, _session, fields, key=key))

    def answer(
        self,
        run_id: str,
        request_id: str,
        answers: Sequence[AnswerBody],
        *,
        justification: str | None = None,
        key: str | None = None,
    ) -> RunView:
        """Answer a question of a run."""
        fields = given(request_id=request_id, answers=[*answers], justification=justification)
        return self.resolve(run_id, QuestionResolutionBody(**fields), key=key)

    def decline(
        self,
        run_id: str,
        request_id: str,
        *,
        justification: str | None = None,
        key: str | None = None,
    ) -> RunView:
        """Tell a run that it gets no answer, and perhaps why; it goes on."""
        fields = given(request_id=request_id, declined=True, justification=justification)
        return self.resolve(run_id, QuestionResolutionBody(**fields), key=key)

    def cancel(self, run_id: str, request_id: str, *, key: str | None = None) -> RunView:
        """Withdraw a question, and with it the run that cannot go on without an answer."""
        path = at("runs", run_id, "questions", request_id, "cancel")
        return self.transport.send(post(path, _run, key=key))


def _query(which: Which, limit: int | None, cursor: str | None) -> dict[str, str | int | bool]:
    everything = which.get("everything") or None
    named = {name: value for name, value in which.items() if name != "everything"}
    return given(all=everything, limit=limit, cursor=cursor, **named)


def _batch(resolutions: Resolutions) -> dict[str, object]:
    return body(ResolveApprovals(resolutions=[*resolutions]))
