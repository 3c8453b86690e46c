"""Runs that wait for approval: asleep without work, woken by the answer, the same run all along."""

from dataclasses import replace

import pytest

from tests.contract.conftest import UnitsOnDatabase
from tests.support.approval_harness import ApprovalRuns, Approver, held
from tests.support.factories import ALICE
from tests.support.run_harness import restarted, texts
from understudy.core.errors import Conflict, Invalid
from understudy.runs.approvals import Resolution
from understudy.runs.model import RunStatus
from understudy.runs.open_requests import RunPlace
from understudy.runs.requests import RequestState
from understudy.sessions.model import require_session
from understudy.testing.answers import Answer, FakeCall, call
from understudy.testing.fake_model import FakeModel


async def test_a_call_that_needs_approval_puts_the_run_to_sleep(
    guarded: ApprovalRuns, approver: Approver, fake: FakeModel, database: UnitsOnDatabase
) -> None:
    run_id = await held(guarded, fake)

    stored = guarded.stored(run_id)
    [request] = guarded.runs.get(run_id).pending
    assert (stored.status, stored.asleep) == (RunStatus.WAITING_FOR_APPROVAL, True)
    assert request.body["tool_name"] == "probe"
    assert request.body["input"] == {"label": "x"}
    assert guarded.calls == []
    assert database.queued == [(run_id, "s1")]


async def test_allowing_wakes_the_same_run_and_the_call_runs_once(
    guarded: ApprovalRuns, approver: Approver, fake: FakeModel, database: UnitsOnDatabase
) -> None:
    run_id = await held(guarded, fake)

    woken = approver.allow(run_id, *approver.asked(run_id))
    assert (woken.run_id, woken.status) == (run_id, RunStatus.RUNNING)
    assert database.queued == [(run_id, "s1")] * 2
    done = await restarted(guarded).execute(run_id)

    assert done.run.status is RunStatus.COMPLETED
    assert guarded.calls == ["x"]
    assert len(fake.requests) == 2
    assert done.run.crashes == 0


async def test_a_tool_that_is_allowed_for_the_session_gets_a_rule_of_the_session(
    guarded: ApprovalRuns, approver: Approver, fake: FakeModel
) -> None:
    run_id = await held(guarded, fake, "x", "y")
    first, second = approver.asked(run_id)

    approver.allow(run_id, first, second, for_session=True)

    with guarded.units.read() as unit:
        session = require_session(unit, "s1")
    assert session.permissions == {"rules": [{"tool": "probe", "decision": "allow"}]}


async def test_a_denied_call_is_not_allowed_for_the_session(
    guarded: ApprovalRuns, approver: Approver, fake: FakeModel
) -> None:
    run_id = await held(guarded, fake)
    [request_id] = approver.asked(run_id)
    denied = Resolution(request_id=request_id, behavior="deny", for_session=True)

    with pytest.raises(Invalid) as refused:
        approver.approvals.resolve(ALICE, RunPlace(run_id=run_id), [denied])

    assert refused.value.code == "only_allowed_for_session"
    assert approver.asked(run_id) == [request_id]


async def test_executing_a_sleeping_run_does_nothing(
    guarded: ApprovalRuns, approver: Approver, fake: FakeModel
) -> None:
    run_id = await held(guarded, fake)

    for _ in range(3):
        await restarted(guarded).execute(run_id)

    assert guarded.stored(run_id).status is RunStatus.WAITING_FOR_APPROVAL
    assert len(fake.requests) == 1


async def test_a_person_may_change_what_the_tool_is_called_with(
    guarded: ApprovalRuns, approver: Approver, fake: FakeModel
) -> None:
    run_id = await held(guarded, fake)

    approver.allow(run_id, *approver.asked(run_id), updated_input={"label": "better"})
    await guarded.execute(run_id)

    assert guarded.calls == ["better"]
    assert '{"label": "better"}' in texts(fake)[-1]


async def test_a_changed_input_that_does_not_fit_is_refused_and_nothing_is_resolved(
    guarded: ApprovalRuns, approver: Approver, fake: FakeModel
) -> None:
    run_id = await held(guarded, fake)

    with pytest.raises(Invalid) as refused:
        approver.allow(run_id, *approver.asked(run_id), updated_input={"label": 7})

    assert refused.value.code == "approval_invalid_input"
    assert len(approver.asked(run_id)) == 1


async def test_the_model_sees_why_a_call_was_denied(
    guarded: ApprovalRuns, approver: Approver, fake: FakeModel
) -> None:
    run_id = await held(guarded, fake)

    approver.deny(run_id, approver.asked(run_id)[0], "not on a Friday")
    done = await guarded.execute(run_id)

    assert done.run.status is RunStatus.COMPLETED
    assert "not on a Friday" in texts(fake)[-1]
    assert guarded.calls == []


async def test_a_denied_call_takes_no_other_input(
    guarded: ApprovalRuns, approver: Approver, fake: FakeModel
) -> None:
    run_id = await held(guarded, fake)
    denial = Resolution(
        request_id=approver.asked(run_id)[0], behavior="deny", updated_input={"label": "y"}
    )

    with pytest.raises(Invalid) as refused:
        approver.approvals.resolve(ALICE, RunPlace(run_id=run_id), [denial])

    assert refused.value.code == "approval_invalid_input"


async def test_a_denied_call_stays_denied_when_a_rule_allows_it_later(
    guarded: ApprovalRuns, approver: Approver, fake: FakeModel
) -> None:
    run_id = await held(guarded, fake, "no", "yes")
    first, second = approver.asked(run_id)
    approver.deny(run_id, first, "no")
    with guarded.units.write() as unit:
        session = require_session(unit, "s1", lock=True)
        allowed = {"rules": [{"tool": "probe", "decision": "allow"}]}
        changed = replace(session, permissions=allowed, version=session.version + 1)
        unit.sessions.update(changed, expected_version=session.version)

    approver.allow(run_id, second)
    await guarded.execute(run_id)

    assert guarded.calls == ["yes"]


async def test_a_batch_takes_effect_as_a_whole(
    guarded: ApprovalRuns, approver: Approver, fake: FakeModel
) -> None:
    run_id = await held(guarded, fake, "a", "b")
    first, second = approver.asked(run_id)

    with pytest.raises(Invalid) as unknown:
        approver.allow(run_id, first, "apr_other")
    assert unknown.value.code == "approval_request_not_pending"
    assert approver.asked(run_id) == [first, second]

    assert approver.allow(run_id, first).status is RunStatus.WAITING_FOR_APPROVAL
    assert approver.allow(run_id, second).status is RunStatus.RUNNING
    await guarded.execute(run_id)
    assert sorted(guarded.calls) == ["a", "b"]


@pytest.mark.parametrize(
    ("batch", "code"),
    [((), "approval_batch_empty"), (("same", "same"), "approval_duplicate_resolution")],
)
async def test_a_batch_that_makes_no_sense_is_refused(
    guarded: ApprovalRuns, approver: Approver, fake: FakeModel, batch: tuple[str, ...], code: str
) -> None:
    run_id = await held(guarded, fake)

    with pytest.raises(Invalid) as refused:
        approver.allow(run_id, *batch)

    assert refused.value.code == code


async def test_resolving_twice_under_one_key_is_resolving_once(
    guarded: ApprovalRuns, approver: Approver, fake: FakeModel
) -> None:
    run_id = await held(guarded, fake)
    [request_id] = approver.asked(run_id)

    approver.allow(run_id, request_id, key="k1")
    await guarded.execute(run_id)
    again = approver.allow(run_id, request_id, key="k1")

    assert (again.run_id, again.status) == (run_id, RunStatus.COMPLETED)
    assert guarded.calls == ["x"]
    with pytest.raises(Conflict) as other:
        approver.allow(run_id, "apr_other", key="k1")
    assert other.value.code == "idempotency_conflict"


async def test_a_repeat_by_way_of_the_session_finds_the_same_run_after_its_end(
    guarded: ApprovalRuns, approver: Approver, fake: FakeModel
) -> None:
    run_id = await held(guarded, fake)
    allowed = [Resolution(request_id=approver.asked(run_id)[0], behavior="allow")]
    here = RunPlace(session_id="s1")

    approver.approvals.resolve(ALICE, here, allowed, idempotency_key="k1")
    await guarded.execute(run_id)
    again = approver.approvals.resolve(ALICE, here, allowed, idempotency_key="k1")

    assert (again.run.run_id, again.run.status) == (run_id, RunStatus.COMPLETED)
    with pytest.raises(Conflict) as nothing:
        approver.approvals.resolve(ALICE, here, allowed)
    assert nothing.value.code == "approval_state_conflict"


async def test_a_settled_approval_cannot_be_settled_again(
    guarded: ApprovalRuns, approver: Approver, fake: FakeModel
) -> None:
    run_id = await held(guarded, fake)
    [request_id] = approver.asked(run_id)
    approver.allow(run_id, request_id)

    with pytest.raises(Conflict) as refused:
        approver.allow(run_id, request_id)

    assert refused.value.code == "approval_state_conflict"


async def test_calls_that_need_nobody_run_beside_one_that_waits(
    guarded: ApprovalRuns, approver: Approver, fake: FakeModel
) -> None:
    listing, probing = (
        FakeCall(name="list_files", arguments={}),
        FakeCall(name="probe", arguments={"label": "x"}),
    )
    fake.queue(
        Answer(
            calls=(
                listing,
                probing,
            )
        )
    )
    run_id = guarded.submit()
    await guarded.execute(run_id)

    assert [result["name"] for result in guarded.results(run_id)] == ["list_files"]
    approver.allow(run_id, *approver.asked(run_id))
    await guarded.execute(run_id)

    names = [result["name"] for result in guarded.results(run_id)]
    assert names == ["list_files", "probe"]


# The line behind a run that waits


async def test_a_queued_run_sleeps_behind_one_that_waits_and_is_woken_when_it_ends(
    guarded: ApprovalRuns, approver: Approver, fake: FakeModel, database: UnitsOnDatabase
) -> None:
    first = await held(guarded, fake)
    second, third = guarded.submit("two"), guarded.submit("three")
    await guarded.execute(second)
    await guarded.execute(third)
    assert [guarded.stored(each).status for each in (second, third)] == [RunStatus.QUEUED] * 2
    assert [guarded.runs.get(each).queued_position for each in (second, third)] == [1, 2]

    approver.allow(first, *approver.asked(first))
    await guarded.execute(first)
    assert database.queued[-1] == (second, "s1")
    assert guarded.stored(third).asleep
    await guarded.execute(second)
    assert database.queued[-1] == (third, "s1")
    assert (await guarded.execute(third)).run.status is RunStatus.COMPLETED


async def test_cancelling_a_sleeper_in_line_lets_the_one_behind_it_go(
    guarded: ApprovalRuns, approver: Approver, fake: FakeModel, database: UnitsOnDatabase
) -> None:
    first = await held(guarded, fake)
    second, third = guarded.submit("two"), guarded.submit("three")
    await guarded.execute(second)
    await guarded.execute(third)

    guarded.runs.cancel(ALICE, second)
    assert guarded.stored(second).status is RunStatus.CANCELLED
    assert guarded.stored(third).asleep
    approver.allow(first, *approver.asked(first))
    await guarded.execute(first)

    assert database.queued[-1] == (third, "s1")


async def test_cancelling_a_waiting_run_wakes_it_to_end_and_takes_its_request_back(
    guarded: ApprovalRuns, approver: Approver, fake: FakeModel
) -> None:
    run_id = await held(guarded, fake)
    [request_id] = approver.asked(run_id)

    guarded.runs.cancel(ALICE, run_id)
    done = await guarded.execute(run_id)

    assert done.run.status is RunStatus.CANCELLED
    assert approver.approvals.reader.get(request_id).state is RequestState.CANCELLED
    with pytest.raises(Conflict):
        approver.allow(run_id, request_id)
    assert guarded.calls == []


async def test_interrupting_a_waiting_run_ends_it_interrupted(
    guarded: ApprovalRuns, fake: FakeModel
) -> None:
    run_id = await held(guarded, fake)

    guarded.runs.interrupt(ALICE, "s1")

    assert (await guarded.execute(run_id)).run.status is RunStatus.INTERRUPTED


async def test_a_long_answer_is_kept_whole_and_shown_in_part(
    guarded: ApprovalRuns, fake: FakeModel
) -> None:
    target = guarded.settings.workspace / "long.txt"
    target.write_text("".join(f"line {number}\n" for number in range(8_000)))
    fake.queue(call("read_file", {"path": "long.txt", "limit": 8_000}))

    done = await guarded.run()

    [artifact] = guarded.runs.artifacts(done.run.run_id)
    whole = guarded.runs.artifact(ALICE, done.run.run_id, artifact.artifact_id)
    shown = texts(fake)[-1]
    assert "line 4000" in whole
    assert "line 4000" not in shown
    assert artifact.artifact_id in shown
    assert "line 7999" in shown
