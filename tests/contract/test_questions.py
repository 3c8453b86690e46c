"""Runs that wait for an answer, and requests that cannot be read."""

from dataclasses import replace

import pytest
import sqlalchemy as sa

from tests.contract.conftest import UnitsOnDatabase
from tests.support.approval_harness import QUESTION, ApprovalRuns, Approver, asking, held
from tests.support.factories import ALICE
from tests.support.run_harness import Probe, arrived, restarted, texts
from understudy.core.errors import Conflict, Invalid, UnderstudyError
from understudy.runs.answers import QuestionAnswer as Chosen
from understudy.runs.answers import QuestionResolution
from understudy.runs.ask_user import AskUser
from understudy.runs.expiry import expire_due
from understudy.runs.model import RunStatus, StopRequest
from understudy.runs.open_requests import RunPlace
from understudy.runs.requests import RequestKind
from understudy.sessions.journal import EventKind
from understudy.testing.answers import Answer, FakeCall, call
from understudy.testing.fake_model import FakeModel
from understudy.tools.base import Approval


async def test_an_answer_wakes_the_run_and_reaches_the_model(
    guarded: ApprovalRuns, approver: Approver, fake: FakeModel
) -> None:
    run_id = await asking(guarded, fake)
    assert guarded.stored(run_id).status is RunStatus.WAITING_FOR_USER_QUESTION

    approver.answer(run_id, *approver.asked(run_id), "o1")
    done = await restarted(guarded).execute(run_id)

    assert done.run.status is RunStatus.COMPLETED
    assert "red (o1)" in texts(fake)[-1]
    told = [event.data for event in guarded.journal(run_id, EventKind.RUN)]
    [resolved] = [data for data in told if data["type"] == "user_question_resolved"]
    assert resolved["resolution"]["answers"][0]["selected_option_ids"] == ["o1"]


WRONG: list[tuple[str, tuple[Chosen, ...], bool]] = [
    ("question_option_not_found", (Chosen(question_id="q1", selected_option_ids=("o9",)),), False),
    (
        "question_single_select_violation",
        (Chosen(question_id="q1", selected_option_ids=("o1", "o2")),),
        False,
    ),
    (
        "question_duplicate_option",
        (Chosen(question_id="q1", selected_option_ids=("o1", "o1")),),
        False,
    ),
    ("question_answer_missing", (), False),
    ("question_answer_empty", (Chosen(question_id="q1"),), False),
    ("question_unknown_answer", (Chosen(question_id="q7", freeform_answer="x"),), False),
    (
        "question_duplicate_answer",
        (Chosen(question_id="q1", freeform_answer="x"),) * 2,
        False,
    ),
    (
        "question_declined_with_answers",
        (Chosen(question_id="q1", freeform_answer="x"),),
        True,
    ),
]


@pytest.mark.parametrize(("code", "answers", "declined"), WRONG, ids=[each[0] for each in WRONG])
async def test_an_answer_that_does_not_fit_leaves_the_run_waiting(
    guarded: ApprovalRuns,
    approver: Approver,
    fake: FakeModel,
    code: str,
    answers: tuple[Chosen, ...],
    declined: bool,
) -> None:
    run_id = await asking(guarded, fake)
    [request_id] = approver.asked(run_id)
    resolution = QuestionResolution(request_id=request_id, answers=answers, declined=declined)

    with pytest.raises(Invalid) as refused:
        approver.questions.resolve(ALICE, RunPlace(run_id=run_id), resolution)

    assert refused.value.code == code
    assert approver.asked(run_id) == [request_id]


async def test_a_declined_question_is_told_to_the_model(
    guarded: ApprovalRuns, approver: Approver, fake: FakeModel
) -> None:
    run_id = await asking(guarded, fake)

    approver.answer(run_id, *approver.asked(run_id), declined=True, justification="ask Bob")
    await guarded.execute(run_id)

    assert "ask Bob" in texts(fake)[-1]


async def test_settled_foreign_and_unknown_questions_are_told_apart(
    guarded: ApprovalRuns, approver: Approver, fake: FakeModel
) -> None:
    run_id = await asking(guarded, fake)
    [request_id] = approver.asked(run_id)
    fake.queue(call("ask_user", QUESTION))
    other = guarded.submit(session_id="s2")
    await guarded.execute(other)

    codes = {}
    for name, asked in {"unknown": "qst_none", "foreign": approver.asked(other)[0]}.items():
        with pytest.raises(UnderstudyError) as refused:
            approver.answer(run_id, asked, "o1")
        codes[name] = refused.value.code
    approver.answer(run_id, request_id, "o1")
    with pytest.raises(Conflict) as settled:
        approver.answer(run_id, request_id, "o1")

    assert codes == {
        "unknown": "question_request_mismatch",
        "foreign": "question_resolution_conflict",
    }
    assert settled.value.code == "question_state_conflict"


async def test_a_question_that_expires_cancels_the_run_and_says_so(
    guarded: ApprovalRuns, approver: Approver, fake: FakeModel
) -> None:
    run_id = await asking(guarded, fake, expires_in_s=5)
    [request_id] = approver.asked(run_id)

    guarded.clock.advance(4_999)
    assert expire_due(guarded.units, guarded.clock) == 0
    guarded.clock.advance(1)
    with pytest.raises(Conflict) as refused:
        approver.answer(run_id, request_id, "o1")
    done = await guarded.execute(run_id)

    assert refused.value.code == "question_expired"
    assert done.run.status is RunStatus.CANCELLED
    assert request_id in (done.run.error or "")


async def test_cancelling_a_question_cancels_the_run(
    guarded: ApprovalRuns, approver: Approver, fake: FakeModel
) -> None:
    run_id = await asking(guarded, fake)

    approver.questions.cancel(ALICE, run_id, approver.asked(run_id)[0])

    assert (await guarded.execute(run_id)).run.status is RunStatus.CANCELLED


async def test_a_run_may_wait_for_an_approval_and_a_question_at_once(
    guarded: ApprovalRuns, approver: Approver, fake: FakeModel
) -> None:
    fake.queue(
        Answer(
            calls=(
                FakeCall(name="ask_user", arguments=QUESTION),
                FakeCall(name="probe", arguments={"label": "x"}),
            )
        )
    )
    run_id = guarded.submit()
    await guarded.execute(run_id)
    pending = {request.kind: request.request_id for request in guarded.runs.get(run_id).pending}
    assert guarded.stored(run_id).status is RunStatus.WAITING_FOR_APPROVAL

    assert approver.allow(run_id, pending[RequestKind.APPROVAL]).status is RunStatus.RUNNING
    halfway = await guarded.execute(run_id)
    assert halfway.run.status is RunStatus.WAITING_FOR_USER_QUESTION
    assert guarded.calls == ["x"]
    approver.answer(run_id, pending[RequestKind.QUESTION], "o2")
    done = await guarded.execute(run_id)

    assert done.run.status is RunStatus.COMPLETED
    assert guarded.calls == ["x"]


async def test_an_answer_while_the_run_is_on_its_way_to_sleep_is_not_missed(
    guarded: ApprovalRuns, approver: Approver, fake: FakeModel
) -> None:
    asked, probed = (
        FakeCall(name="ask_user", arguments=QUESTION),
        FakeCall(name="probe", arguments={"label": "x"}),
    )
    fake.queue(Answer(calls=(asked, probed)))
    run_id = guarded.submit()
    await guarded.execute(run_id)
    pending = {request.kind: request.request_id for request in guarded.runs.get(run_id).pending}
    approver.allow(run_id, pending[RequestKind.APPROVAL])
    probe = guarded.tools[0]
    assert isinstance(probe, Probe)
    probe.hold()
    woken = guarded.begin(run_id)
    await probe.reached()

    approver.answer(run_id, pending[RequestKind.QUESTION], "o2")
    probe.go_on.set()
    await woken

    assert guarded.stored(run_id).status is RunStatus.COMPLETED


async def test_asking_may_itself_need_approval(
    guarded: ApprovalRuns, approver: Approver, fake: FakeModel
) -> None:
    asker = guarded.registry.get("ask_user")
    assert isinstance(asker, AskUser)
    asker.approval = Approval.ALWAYS
    run_id = await asking(guarded, fake)
    assert guarded.stored(run_id).status is RunStatus.WAITING_FOR_APPROVAL

    approver.allow(run_id, *approver.asked(run_id))
    await guarded.execute(run_id)
    assert guarded.stored(run_id).status is RunStatus.WAITING_FOR_USER_QUESTION
    approver.answer(run_id, *approver.asked(run_id), "o1")

    assert (await guarded.execute(run_id)).run.status is RunStatus.COMPLETED


# What cannot be read


def tear(database: UnitsOnDatabase, request_id: str) -> None:
    with database.engine.begin() as connection:
        connection.execute(
            sa.text("UPDATE requests SET body = '{torn' WHERE request_id = :id"), {"id": request_id}
        )


async def test_a_torn_request_costs_its_run_and_nobody_elses(
    guarded: ApprovalRuns, approver: Approver, fake: FakeModel, database: UnitsOnDatabase
) -> None:
    torn = await asking(guarded, fake, expires_in_s=5)
    tear(database, approver.asked(torn)[0])
    fake.queue(call("ask_user", {**QUESTION, "expires_in_s": 6}))
    sound = guarded.submit(session_id="s2")
    await guarded.execute(sound)

    guarded.clock.advance(7_000)
    assert expire_due(guarded.units, guarded.clock) == 2
    await guarded.execute(sound)

    assert guarded.stored(torn).status is RunStatus.FAILED
    assert guarded.stored(sound).status is RunStatus.CANCELLED


async def test_a_run_with_a_torn_request_can_be_seen_and_cancelled(
    guarded: ApprovalRuns, approver: Approver, fake: FakeModel, database: UnitsOnDatabase
) -> None:
    run_id = await held(guarded, fake)
    behind = guarded.submit("two")
    tear(database, approver.asked(run_id)[0])

    assert guarded.runs.get(run_id).pending == ()
    guarded.runs.cancel(ALICE, run_id)
    await guarded.execute(run_id)

    assert guarded.stored(run_id).status is RunStatus.CANCELLED
    assert (await guarded.execute(behind)).run.status is RunStatus.COMPLETED


async def test_a_stop_that_was_asked_for_elsewhere_ends_a_run_on_its_way_to_sleep(
    guarded: ApprovalRuns, fake: FakeModel
) -> None:
    fake.queue(call("probe", {"label": "x"}))
    run_id = guarded.submit()
    fake.hold()
    task = guarded.begin(run_id)
    await arrived(fake, 1)
    with guarded.units.write() as unit:
        run = unit.runs.get(run_id, lock=True)
        assert run is not None
        unit.runs.update(replace(run, stop_request=StopRequest.CANCEL, error="said why"))
    fake.release()
    await task

    stored = guarded.stored(run_id)
    assert (stored.status, stored.error) == (RunStatus.CANCELLED, "said why")


async def test_who_was_overlooked_in_line_is_found(
    guarded: ApprovalRuns, approver: Approver, fake: FakeModel, database: UnitsOnDatabase
) -> None:
    first = await held(guarded, fake)
    second = guarded.submit("two")
    await guarded.execute(second)
    with guarded.units.read() as unit:
        assert unit.runs.left_in_line() == ()
    approver.allow(first, *approver.asked(first))
    await guarded.execute(first)
    with guarded.units.write() as unit:
        run = unit.runs.get(second, lock=True)
        assert run is not None
        unit.runs.update(replace(run, asleep=True))

    with guarded.units.read() as unit:
        assert unit.runs.left_in_line() == (second,)
