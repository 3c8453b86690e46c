"""What a run waits for, and the commands that give it."""

from typing import Any

import pytest
import typer

from tests.unit.cli.waiting_parts import (
    DRINK,
    FREE,
    approval_document,
    question_document,
)
from tests.unit.client.fake_daemon import run_document
from understudy.cli.output import ExitCode
from understudy.cli.requests import (
    WaitNotice,
    approval_pairs,
    leave_waiting,
    need_lines,
    outlook,
    question_pairs,
    resolved_lines,
)
from understudy.wire.approvals import ApprovalView, QuestionView
from understudy.wire.runs import RunView


def run(status: str = "waiting_for_approval", **more: Any) -> RunView:
    return RunView.model_validate(run_document(status=status, **more))


def waiting_run(*ids: str) -> RunView:
    pending = [approval_document(id=each) for each in ids]
    return run(pending_approval_ids=[*ids], pending_approvals=pending)


def test_an_approval_comes_with_the_commands_that_decide_it() -> None:
    assert need_lines(approval_document()) == [
        'approval apr_1: write_file {"path": "notes.txt", "content": "buy milk"}',
        "  understudy approvals allow apr_1",
        '  understudy approvals deny apr_1 --reason "…"',
    ]


def test_a_question_comes_with_its_options() -> None:
    assert need_lines(question_document(DRINK)) == [
        "question qst_1: Tea or coffee?",
        "  understudy questions answer qst_1 --option o1   (o1 = Tea, o2 = Coffee, o3 = Water)",
    ]
    assert need_lines(question_document(FREE))[-1] == (
        '  understudy questions answer qst_1 --text "…"'
    )
    assert need_lines(question_document(DRINK, FREE))[-1] == "  understudy questions answer qst_1"


def test_a_command_that_cannot_go_on_says_what_is_needed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    left = leave_waiting(waiting_run("apr_1"))

    assert isinstance(left, typer.Exit)
    assert left.exit_code == ExitCode.REFUSED
    told = capsys.readouterr()
    assert told.out == ""
    assert "understudy approvals allow apr_1" in told.err
    assert "understudy runs watch run_1" in told.err


def test_what_a_run_waits_for_is_told_once(capsys: pytest.CaptureFixture[str]) -> None:
    told = WaitNotice()
    looks = [run("running"), waiting_run("apr_1"), waiting_run("apr_1"), waiting_run("apr_2")]
    for look in looks:
        told.look(look)

    err = capsys.readouterr().err
    assert err.count("approvals allow apr_1") == 1
    assert err.count("approvals allow apr_2") == 1


def test_after_a_decision_the_run_goes_on_or_waits_for_more() -> None:
    assert "goes on" in outlook(run("running"))
    assert "still waits for 2 requests" in outlook(waiting_run("a", "b"))
    assert outlook(run("cancelled")) == "run run_1 is cancelled"


def test_what_was_decided_is_one_line_each() -> None:
    allowed = {"request_id": "apr_1", "behavior": "allow", "updated_input": {}}
    denied = {"request_id": "apr_2", "behavior": "deny", "reason": "not\nhere"}

    assert resolved_lines({"resolutions": [allowed, denied]}) == [
        "allowed as edited: apr_1",
        "denied: apr_2 (not here)",
    ]
    assert resolved_lines({"resolution": {"request_id": "q", "declined": True}}) == ["declined: q"]
    assert resolved_lines({"resolution": {"request_id": "q", "answers": []}}) == ["answered: q"]


def test_a_decided_approval_shows_what_was_changed_and_why() -> None:
    document = approval_document(
        state="allowed",
        resolution={"updated_input": {"path": "b.txt", "content": "buy milk"}},
        resolved_by="ann",
        resolved_at_ms=2,
    )

    pairs = dict(approval_pairs(ApprovalView.model_validate(document)))

    assert "+path     b.txt" in str(pairs["edited"])
    assert "allowed by ann" in str(pairs["state"])


def test_an_answered_question_shows_the_answer() -> None:
    answers = [{"question_id": "q1", "selected_option_ids": ["o1"], "freeform_answer": "hot"}]
    document = question_document(DRINK, state="answered", resolution={"answers": answers})

    pairs = dict(question_pairs(QuestionView.model_validate(document)))

    assert pairs["answered"] == "q1: o1, hot"
    assert "1. Tea" in str(pairs["q1"])
