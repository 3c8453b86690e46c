"""Offering a person what a run waits for."""

import json
from typing import Any

import httpx2

from tests.unit.cli.waiting_parts import (
    FakePerson,
    approval,
    approval_document,
    question,
    question_document,
)
from tests.unit.client.fake_daemon import answers, client_of, run_document
from understudy.cli.decisions import Review, offer
from understudy.client import Client

APPROVE = run_document(
    status="waiting_for_approval",
    pending_approval_ids=["apr_1"],
    pending_approvals=[approval_document()],
)
ANSWER = run_document(
    status="waiting_for_user_question",
    pending_question_ids=["qst_1"],
    pending_questions=[question_document()],
)
GOES_ON = run_document(status="running")
SETTLED = {"code": "approval_state_conflict", "domain": "approvals", "detail": "it was settled"}


def talking(*steps: Any) -> tuple[Client, list[httpx2.Request]]:
    handler, seen = answers(
        *(each if isinstance(each, httpx2.Response) else reply(each) for each in steps)
    )
    return client_of(handler)[0], seen


def reply(document: Any, status: int = 200) -> httpx2.Response:
    return httpx2.Response(status, json=document)


def posted(seen: list[httpx2.Request]) -> list[Any]:
    return [json.loads(request.content) for request in seen if request.method == "POST"]


def test_everything_a_run_waits_for_is_asked_one_by_one() -> None:
    client, seen = talking(APPROVE, GOES_ON, ANSWER, GOES_ON, GOES_ON)

    assert offer(client, FakePerson("a", "2"), "run_1")

    approved, answered = posted(seen)
    assert approved["resolutions"][0]["behavior"] == "allow"
    assert answered["resolution"]["answers"][0]["selected_option_ids"] == ["o2"]


def test_what_was_typed_before_the_question_does_not_answer_it() -> None:
    client, _ = talking(APPROVE)
    person = FakePerson()

    offer(client, person, "run_1")

    assert person.heard[0] == "(what was typed before is dropped)"


def test_who_leaves_is_told_how_to_come_back() -> None:
    for line in ("w", "q"):
        client, seen = talking(APPROVE)
        person = FakePerson(line)

        assert not offer(client, person, "run_1")

        assert "understudy chat --session s1" in person.screen
        assert posted(seen) == []


def test_an_answer_that_came_too_late_is_said_and_the_run_goes_on() -> None:
    client, _ = talking(APPROVE, reply(SETTLED, 409), GOES_ON)
    person = FakePerson("a")

    assert offer(client, person, "run_1")
    assert "it was settled" in person.screen


def test_an_edit_that_the_daemon_refuses_is_asked_again() -> None:
    wrong = {"code": "approval_invalid_input", "domain": "approvals", "detail": "path is missing"}
    client, seen = talking(APPROVE, reply(wrong, 400), GOES_ON, GOES_ON)
    person = FakePerson("e", "a", "a", edits=["{}"])

    assert offer(client, person, "run_1")
    assert "path is missing" in person.screen
    assert len(posted(seen)) == 2


def test_a_review_goes_through_what_waits_and_counts() -> None:
    client, seen = talking(GOES_ON, GOES_ON, reply(SETTLED, 409))
    person = FakePerson("a", "w", "d", "no", "q")
    pending = [approval(id=f"apr_{number}") for number in range(1, 7)]

    Review(client, person).approvals(pending)

    assert [each["resolutions"][0]["request_id"] for each in posted(seen)] == ["apr_1", "apr_3"]
    assert person.heard[-1] == "1 allowed, 1 skipped, 1 failed; the rest goes on waiting"
    assert "it was settled" in person.screen


def test_a_review_that_is_left_at_once_decides_nothing() -> None:
    person = FakePerson()
    client, seen = talking(GOES_ON)

    Review(client, person).approvals([approval()])

    assert person.heard[-1] == "nothing decided; the rest goes on waiting"
    assert posted(seen) == []


def test_a_review_of_questions_goes_through_them_and_counts() -> None:
    client, seen = talking(GOES_ON, GOES_ON, GOES_ON, reply(SETTLED, 409))
    person = FakePerson("2", "/skip", "/decline", "no idea", "1")
    pending = [question(id=f"qst_{number}") for number in range(1, 6)]

    Review(client, person).questions(pending)

    resolutions = [each["resolution"] for each in posted(seen)]
    assert [each["request_id"] for each in resolutions] == ["qst_1", "qst_3", "qst_4"]
    assert resolutions[0]["answers"][0]["selected_option_ids"] == ["o2"]
    assert resolutions[1]["declined"] is True
    assert person.heard[-1] == (
        "1 answered, 1 skipped, 1 declined, 1 failed; the rest goes on waiting"
    )
    assert "session   s1" in person.heard
