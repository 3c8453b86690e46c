"""Calls about approvals, questions and artifacts."""

import json
from typing import Any

import httpx2
import pytest

from tests.unit.client.fake_daemon import answers, client_of, pages, run_document
from understudy.client import Client
from understudy.client.errors import NotFoundError
from understudy.wire.approvals import AnswerBody, ApprovalResolution, QuestionResolutionBody
from understudy.wire.runs import RunView

ALLOW = ApprovalResolution(request_id="apr_1", behavior="allow", updated_input={"path": "x"})
SESSION = {
    "session_id": "s1",
    "agent_id": "default",
    "snapshot": {"status": "active", "journal_length": 1, "queued_runs": 0},
    "created_at_ms": 1,
    "updated_at_ms": 1,
    "version": 1,
}
APPROVAL = {
    "id": "apr_1",
    "run_id": "run_1",
    "session_id": "s1",
    "tool_call_id": "c",
    "tool_name": "shell",
    "input": {},
    "scope": "tool",
    "reason": "shell asks by default",
    "state": "pending",
    "created_at_ms": 1,
}
QUESTION = {
    "id": "qst_1",
    "run_id": "run_1",
    "session_id": "s1",
    "tool_call_id": "c",
    "audience": "user",
    "questions": [{"id": "q1", "question": "Which?"}],
    "state": "pending",
    "created_at_ms": 1,
}


def talking(*documents: Any) -> tuple[Client, list[httpx2.Request]]:
    handler, seen = answers(*(httpx2.Response(200, json=each) for each in documents))
    return client_of(handler)[0], seen


def sent(request: httpx2.Request) -> tuple[str, str, Any]:
    return request.method, request.url.path, json.loads(request.content)


def test_approvals_of_a_run_are_resolved_together_and_under_a_key() -> None:
    client, (seen) = talking(run_document(status="running"))
    deny = ApprovalResolution(request_id="apr_2", behavior="deny", reason="no")

    run = client.approvals.resolve("run_1", [ALLOW, deny])

    assert run.status == "running"
    assert sent(seen[0]) == (
        "POST",
        "/v1/runs/run_1/approvals",
        {
            "resolutions": [
                {"request_id": "apr_1", "behavior": "allow", "updated_input": {"path": "x"}},
                {"request_id": "apr_2", "behavior": "deny", "reason": "no"},
            ]
        },
    )
    assert seen[0].headers["Idempotency-Key"]


def test_approvals_of_a_session_are_resolved_with_and_without_waiting() -> None:
    client, seen = talking(run_document(), SESSION)

    client.approvals.resolve_in_session("s1", [ALLOW])
    client.approvals.resolve_inline("s1", [ALLOW], key="mine")

    assert [request.url.path for request in seen] == [
        "/v1/sessions/s1/approval-runs",
        "/v1/sessions/s1/approvals",
    ]
    assert seen[1].headers["Idempotency-Key"] == "mine"


def test_questions_are_answered_declined_and_withdrawn() -> None:
    client, seen = talking(run_document(), run_document(), run_document(), SESSION)
    answer = AnswerBody(question_id="q1", selected_option_ids=["o1"])

    client.questions.answer("run_1", "qst_1", [answer])
    client.questions.decline("run_1", "qst_1", justification="later")
    client.questions.cancel("run_1", "qst_1")
    resolution = QuestionResolutionBody(request_id="qst_1", declined=True)
    client.questions.resolve_inline("s1", resolution)

    chosen = {"question_id": "q1", "selected_option_ids": ["o1"]}
    declined = {"request_id": "qst_1", "declined": True}
    assert [sent(request) for request in seen] == [
        (
            "POST",
            "/v1/runs/run_1/questions",
            {"resolution": {"request_id": "qst_1", "answers": [chosen]}},
        ),
        (
            "POST",
            "/v1/runs/run_1/questions",
            {"resolution": {**declined, "justification": "later"}},
        ),
        ("POST", "/v1/runs/run_1/questions/qst_1/cancel", {}),
        ("POST", "/v1/sessions/s1/questions", {"resolution": declined}),
    ]
    assert len({request.headers["Idempotency-Key"] for request in seen}) == len(seen)


def test_lists_show_what_waits_unless_more_is_asked() -> None:
    handler, seen = answers(*pages([APPROVAL], [APPROVAL]), *pages([QUESTION]))
    client, _ = client_of(handler)

    assert len(list(client.approvals.list(session_id="s1"))) == 2
    assert [each.id for each in client.questions.list(run_id="run_1", everything=True)] == ["qst_1"]
    assert [dict(request.url.params) for request in seen] == [
        {"session_id": "s1"},
        {"session_id": "s1", "cursor": "c0"},
        {"run_id": "run_1", "all": "true"},
    ]


def test_one_of_each_is_read() -> None:
    client, _ = talking(APPROVAL, QUESTION)

    assert client.approvals.get("apr_1").tool_name == "shell"
    assert client.questions.get("qst_1").questions[0].options == []


def test_an_artifact_is_a_text() -> None:
    missing = httpx2.Response(404, json={"code": "artifact_not_found", "detail": "no artifact"})
    handler, seen = answers(httpx2.Response(200, text="a long\nanswer"), missing)
    client, _ = client_of(handler)

    assert client.runs.artifact("run_1", "art/1") == "a long\nanswer"
    assert seen[0].url.raw_path == b"/v1/runs/run_1/artifacts/art%2F1"
    with pytest.raises(NotFoundError):
        client.runs.artifact("run_1", "art_2")


def test_waiting_for_a_run_can_end_when_it_waits_for_a_person() -> None:
    waiting = run_document(status="waiting_for_approval", pending_approval_ids=["apr_1"])
    client, _ = talking(run_document(status="running"), waiting)

    assert client.runs.wait_settled("run_1").status == "waiting_for_approval"


def test_who_waits_for_the_end_is_shown_the_run_on_the_way() -> None:
    client, _ = talking(
        run_document(status="running"),
        run_document(status="waiting_for_approval"),
        run_document(status="completed"),
    )
    seen: list[RunView] = []

    assert client.runs.wait("run_1", on_look=seen.append).status == "completed"
    assert [run.status for run in seen] == ["running", "waiting_for_approval"]
