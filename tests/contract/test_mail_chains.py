"""A chain of messages ends, also when it goes through sidechains."""

import pytest

from tests.support.factories import NOW, make_run, make_session
from tests.support.schedule_harness import ScheduleHarness
from understudy.core.errors import Rejected
from understudy.mailboxes.model import MAX_HOPS, MailSender, Message, NewMessage
from understudy.mailboxes.outgoing import RunMail, hops_of
from understudy.runs.model import RunInput, RunKind, RunStatus
from understudy.runs.requests import Audience, PersonRequest, RequestKind
from understudy.sessions.model import Spawn
from understudy.storage.unit import Units


@pytest.fixture
def almanac(units: Units) -> ScheduleHarness:
    return ScheduleHarness(units)


def sender_of(session_id: str, run_id: str | None) -> MailSender:
    return MailSender(user_id="alice", run_id=run_id, session_id=session_id, agent_id="default")


def spawned(almanac: ScheduleHarness, session_id: str, parent_id: str, by: str) -> str:
    """A sidechain that a run made, with a run of its own; the run that made it has ended."""
    run = make_run(session_id)
    with almanac.units.write() as unit:
        unit.sessions.add(make_session(session_id, parent_session_id=parent_id))
        unit.runs.add(run)
        unit.sidechains.add(
            Spawn(
                session_id=session_id,
                run_id=by,
                first_run_id=run.run_id,
                created_at_ms=NOW,
            )
        )
    return run.run_id


def read(almanac: ScheduleHarness, message: Message) -> str:
    """Have a message read by a run that is over at once."""
    almanac.deliver()
    run_id = almanac.message(message).run_id
    assert run_id is not None
    almanac.end(run_id, RunStatus.COMPLETED)
    almanac.deliver()
    return run_id


def test_a_sidechain_whose_maker_has_ended_does_not_begin_a_new_chain(
    almanac: ScheduleHarness,
) -> None:
    maker = read(almanac, almanac.post())
    run_id = spawned(almanac, "child", "s1", maker)
    below = spawned(almanac, "grandchild", "child", run_id)
    mail = RunMail(almanac.mailboxes)
    wanted = NewMessage(content="on", session_id="s2")

    assert mail.send(sender_of("child", run_id), wanted, call_digest="one").hops == 2
    assert mail.send(sender_of("grandchild", below), wanted, call_digest="two").hops == 2


def test_mail_that_goes_through_sidechains_ends(almanac: ScheduleHarness) -> None:
    mail = RunMail(almanac.mailboxes)
    message = almanac.post()
    for number in range(1, MAX_HOPS):
        run_id = spawned(almanac, f"child-{number}", "s1", read(almanac, message))
        message = mail.send(
            sender_of(f"child-{number}", run_id),
            NewMessage(content="on", session_id="s1"),
            call_digest=f"call {number}",
        )
        assert message.hops == number + 1
    last = spawned(almanac, "last", "s1", read(almanac, message))
    with pytest.raises(Rejected) as refused:
        mail.send(
            sender_of("last", last), NewMessage(content="on", session_id="s1"), call_digest="last"
        )

    assert refused.value.code == "mail_goes_in_circles"


def test_the_run_that_answers_a_sidechain_goes_on_with_its_chain(almanac: ScheduleHarness) -> None:
    asking = spawned(almanac, "child", "s1", read(almanac, almanac.post()))
    answering = make_run(
        "s1",
        kind=RunKind.PARENT_CLARIFICATION,
        input=RunInput(items=(), metadata={"request_id": "que_1", "session_id": "child"}),
    )
    with almanac.units.write() as unit:
        unit.runs.add(answering)
        unit.requests.add(
            PersonRequest(
                request_id="que_1",
                kind=RequestKind.QUESTION,
                run_id=asking,
                session_id="child",
                call_key="call",
                body={},
                created_at_ms=NOW,
                audience=Audience.PARENT,
            )
        )
    with almanac.units.read() as unit:
        assert hops_of(unit, sender_of("s1", answering.run_id)) == 1
