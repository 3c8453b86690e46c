"""A sidechain asks: its parent answers, or a run made for it, or a person."""

import json
from dataclasses import replace

import pytest

from tests.support.factories import ALICE
from tests.support.model_scripts import answer_call, answering, ask, play
from tests.support.run_harness import Probe, restarted, texts
from tests.support.sidechain_runs import WAIT, SidechainRuns, spawn
from understudy.core.errors import Conflict, NotFound
from understudy.core.page import PageRequest
from understudy.runs.answers import QuestionAnswer, QuestionResolution
from understudy.runs.approvals import ApprovalService, Resolution
from understudy.runs.expiry import expire_due
from understudy.runs.model import RunKind, RunStatus
from understudy.runs.open_requests import RunPlace
from understudy.runs.questions import QuestionService
from understudy.sessions.model import ReplyTarget, require_session
from understudy.testing.answers import Answer as Answer
from understudy.testing.answers import SeenRequest, call
from understudy.testing.fake_model import FakeModel
from understudy.tools.base import Approval


async def test_a_sidechain_asks_and_the_waiting_parents_model_answers(
    sidechain_runs: SidechainRuns, fake: FakeModel
) -> None:
    fake.rule = play(
        {
            "parent": [spawn("child"), WAIT, answering("blue"), WAIT],
            "child": [ask("Which colour?"), lambda seen: f"painted: {seen.turns[-1].text}"],
        }
    )
    parent = sidechain_runs.harness.submit("parent")

    await sidechain_runs.work()

    results = sidechain_runs.harness.results(parent)
    question = json.loads(results[1]["content"])
    assert question["questions"][0]["questions"][0]["question"] == "Which colour?"
    assert "answer_sidechain" in question["note"]
    assert results[2]["content"].startswith("answered; sidechain")
    assert "blue" in json.loads(results[3]["content"])["sidechains"][0]["output"]
    assert sidechain_runs.harness.stored(parent).status is RunStatus.COMPLETED
    events = sidechain_runs.harness.journal(
        sidechain_runs.run_of(sidechain_runs.children()[0]).run_id
    )
    assert "parent_clarification_resolved" in [event.data.get("type") for event in events]


async def test_a_sidechain_that_asks_a_parent_at_rest_gets_a_run_of_its_own(
    sidechain_runs: SidechainRuns, fake: FakeModel
) -> None:
    def answer_it(seen: SeenRequest) -> Answer:
        return answer_call(json.loads(seen.last_user.partition("\n")[2]), "blue")

    fake.rule = play(
        {
            "parent": [spawn("child")],
            "child": [ask("Which colour?"), lambda seen: f"painted: {seen.turns[-1].text}"],
            "A sidechain of this session asks": [answer_it, "told"],
        }
    )
    sidechain_runs.harness.submit("parent")
    await sidechain_runs.work(only="s1")
    [child] = sidechain_runs.children()
    await sidechain_runs.work()
    assert sidechain_runs.run_of(child).status is RunStatus.WAITING_FOR_USER_QUESTION

    for _ in range(3):
        assert sidechain_runs.harness.family.catch_up() == 0
        await sidechain_runs.work()

    clarification = sidechain_runs.run_of("s1")
    assert clarification.kind is RunKind.PARENT_CLARIFICATION
    assert (clarification.status, clarification.user_id) == (RunStatus.COMPLETED, "alice")
    assert sidechain_runs.run_of(child).status is RunStatus.COMPLETED
    runs = sidechain_runs.runs_of("s1")
    assert [run.kind for run in runs] == [RunKind.PARENT_CLARIFICATION, RunKind.INPUT]
    assert sidechain_runs.signals() == 0


async def test_a_question_that_nobody_looked_at_gets_one_run_and_no_more(
    sidechain_runs: SidechainRuns, fake: FakeModel
) -> None:
    fake.rule = play({"parent": [spawn("child"), WAIT], "child": [ask("Which colour?")]})
    sidechain_runs.harness.submit("parent")

    for _ in range(4):
        await sidechain_runs.work()
        sidechain_runs.harness.family.catch_up()

    runs = sidechain_runs.runs_of("s1")
    assert [run.kind for run in runs] == [RunKind.PARENT_CLARIFICATION, RunKind.INPUT]
    assert all(run.status is RunStatus.COMPLETED for run in runs)
    assert (
        sidechain_runs.run_of(sidechain_runs.children()[0]).status
        is RunStatus.WAITING_FOR_USER_QUESTION
    )
    assert sidechain_runs.signals() == 0


async def test_a_person_answers_in_place_of_the_parent(
    sidechain_runs: SidechainRuns, fake: FakeModel
) -> None:
    fake.rule = play(
        {
            "parent": [spawn("child")],
            "child": [ask("Which colour?"), lambda seen: f"painted: {seen.turns[-1].text}"],
        }
    )
    sidechain_runs.harness.submit("parent")
    await sidechain_runs.work()
    questions = QuestionService(sidechain_runs.units, sidechain_runs.harness.clock)
    [child] = sidechain_runs.children()
    [request] = questions.reader.page(PageRequest(), session_id=child).items
    answer = QuestionAnswer(question_id="q1", freeform_answer="red")

    questions.resolve(
        ALICE,
        RunPlace(run_id=request.run_id),
        QuestionResolution(request_id=request.request_id, answers=(answer,)),
    )
    await sidechain_runs.work()

    assert sidechain_runs.run_of(child).status is RunStatus.COMPLETED
    assert "red" in texts(fake)[-1]


async def test_a_question_to_the_parent_that_a_person_cancels_counts_as_declined(
    sidechain_runs: SidechainRuns, fake: FakeModel
) -> None:
    fake.rule = play(
        {
            "parent": [spawn("child")],
            "child": [ask("Which colour?"), lambda seen: f"told: {seen.turns[-1].text}"],
        }
    )
    sidechain_runs.harness.submit("parent")
    await sidechain_runs.work()
    questions = QuestionService(sidechain_runs.units, sidechain_runs.harness.clock)
    [child] = sidechain_runs.children()
    [request] = questions.reader.page(PageRequest(), session_id=child).items

    questions.cancel(ALICE, request.run_id, request.request_id)
    await sidechain_runs.work()

    assert sidechain_runs.run_of(child).status is RunStatus.COMPLETED
    assert "would rather not answer" in texts(fake)[-1]
    told = [event.data for event in sidechain_runs.harness.journal(request.run_id)]
    [resolved] = [it for it in told if it.get("type") == "parent_clarification_resolved"]
    assert resolved["resolution"]["declined"] is True
    with pytest.raises(Conflict):
        questions.cancel(ALICE, request.run_id, request.request_id)


async def test_the_run_that_answers_a_sidechain_speaks_to_the_reply_targets_of_its_session(
    sidechain_runs: SidechainRuns, fake: FakeModel
) -> None:
    target = ReplyTarget(plugin="http", address="http://127.0.0.1:9/hook")
    with sidechain_runs.units.write() as unit:
        session = require_session(unit, "s1", lock=True)
        unit.sessions.update(
            replace(session, reply_targets=(target,), version=session.version + 1),
            expected_version=session.version,
        )
    fake.rule = play(
        {
            "parent": [spawn("child")],
            "child": [ask("Which colour?"), "painted"],
            "A sidechain of this session asks": ["I told it to wait."],
        }
    )
    sidechain_runs.harness.submit("parent", reply_targets=())
    for _ in range(3):
        await sidechain_runs.work()
        sidechain_runs.harness.family.catch_up()

    clarification = sidechain_runs.run_of("s1")
    assert clarification.kind is RunKind.PARENT_CLARIFICATION
    assert clarification.reply_targets == (target,)
    with sidechain_runs.units.read() as unit:
        assert len(unit.deliveries.of_runs([clarification.run_id])[clarification.run_id]) == 1


async def test_a_question_to_the_parent_that_expires_is_told_as_declined(
    sidechain_runs: SidechainRuns, fake: FakeModel
) -> None:
    fake.rule = play(
        {
            "parent": [spawn("child")],
            "child": [ask("Which colour?", expires_in_s=5), lambda seen: seen.turns[-1].text],
        }
    )
    sidechain_runs.harness.submit("parent")
    await sidechain_runs.work()
    sidechain_runs.harness.clock.advance(6000)

    expire_due(sidechain_runs.units, sidechain_runs.harness.clock)
    await sidechain_runs.work()

    assert sidechain_runs.run_of(sidechain_runs.children()[0]).status is RunStatus.COMPLETED
    assert "nobody answered in time" in texts(fake)[-1]


def resolution(request_id: str, text: str = "blue") -> QuestionResolution:
    answer = QuestionAnswer(question_id="q1", freeform_answer=text)
    return QuestionResolution(request_id=request_id, answers=(answer,))


async def test_the_same_answer_again_changes_nothing_and_another_is_refused(
    sidechain_runs: SidechainRuns, fake: FakeModel
) -> None:
    fake.rule = play({"parent": [spawn("child")], "child": [ask("Which colour?")]})
    sidechain_runs.harness.submit("parent")
    await sidechain_runs.work()
    [request_id] = sidechain_runs.questions()
    service = sidechain_runs.harness.sidechains

    first = service.answer(ALICE, "s1", resolution(request_id))
    again = service.answer(ALICE, "s1", resolution(request_id))

    assert first == again
    with pytest.raises(Conflict):
        service.answer(ALICE, "s1", resolution(request_id, "red"))
    with pytest.raises(NotFound):
        service.answer(ALICE, "s2", resolution(request_id))


async def test_a_parent_waits_on_while_its_sidechain_waits_for_approval(
    sidechain_runs: SidechainRuns, fake: FakeModel
) -> None:
    risky = Probe("risky")
    risky.approval = Approval.ALWAYS
    fake.rule = play({"parent": [spawn("child"), WAIT], "child": [call("risky"), "did it"]})
    sidechain_runs.harness = restarted(
        sidechain_runs.harness, tools=(*sidechain_runs.harness.tools, risky)
    )
    parent = sidechain_runs.harness.submit("parent")
    await sidechain_runs.work()
    [child] = sidechain_runs.children()
    assert sidechain_runs.run_of(child).status is RunStatus.WAITING_FOR_APPROVAL
    assert (sidechain_runs.run_of("s1").status, sidechain_runs.run_of("s1").asleep) == (
        RunStatus.RUNNING,
        True,
    )
    approvals = ApprovalService(sidechain_runs.units, sidechain_runs.harness.clock, lambda *_: None)
    [request] = approvals.reader.page(PageRequest(), session_id=child).items

    yes = Resolution(request_id=request.request_id, behavior="allow")
    approvals.resolve(ALICE, RunPlace(run_id=request.run_id), [yes])
    await sidechain_runs.work()

    assert len(risky.labels) == 1
    assert sidechain_runs.harness.stored(parent).status is RunStatus.COMPLETED


async def test_a_question_that_no_run_can_be_made_for_stays_open_for_people(
    sidechain_runs: SidechainRuns, fake: FakeModel
) -> None:
    fake.rule = play({"parent": [spawn("child")], "child": [ask("Which colour?")]})
    sidechain_runs.harness.submit("parent")
    await sidechain_runs.work(only="s1")
    with sidechain_runs.units.write() as unit:
        session = unit.sessions.get("s1", lock=True)
        assert session is not None
        closed = replace(session, credential_scope={"route_deny": ["*"]}, version=2)
        unit.sessions.update(closed, expected_version=session.version)
    await sidechain_runs.work()

    assert sidechain_runs.signals() == 1
    assert sidechain_runs.harness.family.catch_up() == 0

    assert sidechain_runs.signals() == 0
    assert sidechain_runs.run_of("s1").kind is RunKind.INPUT
    assert len(sidechain_runs.questions()) == 1
