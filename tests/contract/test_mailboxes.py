"""Messages are delivered at least once, as runs, and given up after three tries; on both databases."""

import threading
from dataclasses import replace

import pytest
import sqlalchemy as sa

from tests.contract.conftest import UnitsOnDatabase
from tests.support.factories import ADMIN, ALICE, NOW, ODD_TEXTS, make_agent, make_session
from tests.support.run_harness import RunHarness
from tests.support.schedule_harness import HOUR, PAGE, Died, ScheduleHarness
from understudy.core.errors import Conflict, Invalid, LimitExceeded, NotFound, Rejected
from understudy.mailboxes.model import (
    MAX_ATTEMPTS,
    MAX_CONTENT_BYTES,
    MAX_HOPS,
    MAX_WAITING,
    MailSender,
    Message,
    MessageStatus,
    NewMessage,
)
from understudy.mailboxes.outgoing import RunMail, SendMail
from understudy.mailboxes.service import Mailbox, MailboxService
from understudy.mailboxes.worker import WAITS_MS
from understudy.runs.model import RunKind, RunStatus
from understudy.sessions.service import SessionService
from understudy.storage.unit import Units
from understudy.testing.answers import call
from understudy.testing.fake_model import FakeModel

S1 = Mailbox(session_id="s1")


@pytest.fixture
def almanac(units: Units) -> ScheduleHarness:
    return ScheduleHarness(units)


def sessions(almanac: ScheduleHarness) -> SessionService:
    return SessionService(almanac.units, almanac.clock, lambda _: True)


def actions(almanac: ScheduleHarness) -> list[tuple[str, str]]:
    with almanac.units.read() as unit:
        entries = unit.audit.page(PAGE, resource="mailboxes", actor=None).items
    return [(entry.actor, entry.action) for entry in reversed(entries)]


def bury(almanac: ScheduleHarness, message: Message) -> Message:
    """Let every try come to nothing."""
    for wait in (*WAITS_MS, 0):
        almanac.deliver()
        run_id = almanac.message(message).run_id
        almanac.end(run_id, RunStatus.FAILED, error="the model is away")
        almanac.deliver()
        almanac.clock.advance(wait)
    return almanac.message(message)


def test_a_message_is_read_by_a_run_and_then_acked(database: UnitsOnDatabase) -> None:
    almanac = ScheduleHarness(database.units)
    posted = almanac.post("the roof leaks", subject="House", metadata={"ticket": 7})
    assert (posted.status, posted.attempts) == (MessageStatus.PENDING, 0)
    assert almanac.message(posted) == posted
    almanac.deliver()

    delivering = almanac.message(posted)
    [run] = almanac.runs()
    assert (delivering.status, delivering.attempts) == (MessageStatus.DELIVERING, 1)
    assert delivering.run_ids == (run.run_id,)
    assert (run.kind, run.user_id) == (RunKind.MAILBOX_DELIVERY, "alice")
    assert run.request.source_plugin == "mailboxes"
    assert "> the roof leaks" in run.input.text
    assert run.input.metadata == {
        "mailbox": {
            "message_id": posted.message_id,
            "hops": 1,
            "from_user_id": "alice",
            "subject": "House",
            "metadata": {"ticket": 7},
        }
    }
    assert database.queued == [(run.run_id, "s1")]
    almanac.deliver(HOUR)
    assert almanac.message(posted).status is MessageStatus.DELIVERING
    almanac.end(run.run_id, RunStatus.COMPLETED)
    almanac.deliver()
    assert almanac.message(posted).status is MessageStatus.ACKED
    assert len(almanac.runs()) == 1


@pytest.mark.parametrize(
    "ending", [RunStatus.FAILED, RunStatus.INTERRUPTED, RunStatus.CANCELLED], ids=str
)
def test_a_message_that_was_not_read_is_delivered_again_after_a_while(
    almanac: ScheduleHarness, ending: RunStatus
) -> None:
    message = almanac.post()
    almanac.deliver()
    almanac.end(almanac.message(message).run_id, ending)
    almanac.deliver()
    waiting = almanac.message(message)
    assert (waiting.status, waiting.reason) == (MessageStatus.PENDING, f"run {ending}")
    almanac.deliver(WAITS_MS[0] - 1)
    assert len(almanac.runs()) == 1

    almanac.deliver(1)
    again = almanac.message(message)
    assert (again.status, again.attempts) == (MessageStatus.DELIVERING, 2)
    assert again.run_ids == tuple(run.run_id for run in almanac.runs())


def test_a_message_is_a_dead_letter_after_three_tries(almanac: ScheduleHarness) -> None:
    dead = bury(almanac, almanac.post())
    assert (dead.status, dead.attempts) == (MessageStatus.DEAD, MAX_ATTEMPTS)
    assert dead.reason == "run failed: the model is away"
    assert len(dead.run_ids) == MAX_ATTEMPTS
    almanac.deliver(HOUR)
    assert len(almanac.runs()) == MAX_ATTEMPTS
    found = almanac.mailboxes.page(S1, PAGE, statuses=(MessageStatus.DEAD,))
    assert found.items == (dead,)
    assert ("daemon", "mailboxes.bury") in actions(almanac)


def test_a_dead_letter_can_be_tried_again(almanac: ScheduleHarness) -> None:
    dead = bury(almanac, almanac.post())
    revived = almanac.mailboxes.retry(ALICE, S1, dead.message_id)
    assert (revived.status, revived.attempts, revived.reason) == (MessageStatus.PENDING, 0, None)
    almanac.deliver()
    almanac.end(almanac.message(dead).run_id, RunStatus.COMPLETED)
    almanac.deliver()

    assert almanac.message(dead).status is MessageStatus.ACKED
    assert len(almanac.message(dead).run_ids) == MAX_ATTEMPTS + 1
    with pytest.raises(Conflict) as refused:
        almanac.mailboxes.retry(ALICE, S1, dead.message_id)
    assert refused.value.code == "message_not_dead"


def test_what_waits_or_is_dead_can_be_taken_out(almanac: ScheduleHarness) -> None:
    dead = bury(almanac, almanac.post(session_id="s2"))
    pending = almanac.post()
    acked = almanac.mailboxes.ack(ADMIN, S1, pending.message_id)
    assert (acked.status, acked.due_at_ms) == (MessageStatus.ACKED, None)
    assert almanac.mailboxes.ack(ADMIN, S1, pending.message_id) == acked
    box = Mailbox(session_id="s2")
    assert almanac.mailboxes.ack(ADMIN, box, dead.message_id).status is MessageStatus.ACKED
    assert actions(almanac).count(("root", "mailboxes.ack")) == 2


def test_what_is_in_delivery_cannot_be_taken_out(almanac: ScheduleHarness) -> None:
    message = almanac.post()
    almanac.deliver()
    with pytest.raises(Conflict) as refused:
        almanac.mailboxes.ack(ALICE, S1, message.message_id)

    assert refused.value.code == "message_in_delivery"
    assert refused.value.params == {"run_id": almanac.message(message).run_id}


def test_a_message_is_found_only_in_its_own_mailbox(almanac: ScheduleHarness) -> None:
    message = almanac.post()
    for box in (Mailbox(session_id="s2"), Mailbox(agent_id="default")):
        with pytest.raises(NotFound) as missing:
            almanac.mailboxes.ack(ALICE, box, message.message_id)
        assert missing.value.code == "message_not_found"
        assert almanac.mailboxes.page(box, PAGE).items == ()
    for box in (Mailbox(session_id="nowhere"), Mailbox(agent_id="nobody")):
        with pytest.raises(NotFound):
            almanac.mailboxes.page(box, PAGE)


def test_a_session_is_delivered_one_message_at_a_time_in_order(almanac: ScheduleHarness) -> None:
    first, second = almanac.post("one"), almanac.post("two")
    elsewhere = almanac.post("three", session_id="s2")
    almanac.deliver()
    assert almanac.message(second).status is MessageStatus.PENDING
    assert almanac.message(elsewhere).status is MessageStatus.DELIVERING

    almanac.end(almanac.message(first).run_id, RunStatus.COMPLETED)
    almanac.deliver()
    assert almanac.message(second).status is MessageStatus.DELIVERING


def test_several_daemons_deliver_each_message_once(almanac: ScheduleHarness) -> None:
    posted = [almanac.post(str(number), session_id=f"s{1 + number % 2}") for number in range(6)]
    daemons = [almanac.beside() for _ in range(3)]

    def work(daemon: ScheduleHarness, start: threading.Barrier) -> None:
        start.wait()
        daemon.postman.claim(1)

    for _ in range(len(posted)):
        start = threading.Barrier(len(daemons))
        threads = [threading.Thread(target=work, args=(daemon, start)) for daemon in daemons]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        for session_id in ("s1", "s2"):
            under_way = [r for r in almanac.runs(session_id) if r.finished_at_ms is None]
            assert len(under_way) <= 1
            for run in under_way:
                almanac.end(run.run_id, RunStatus.COMPLETED)
    almanac.deliver()

    assert {almanac.message(message).status for message in posted} == {MessageStatus.ACKED}
    assert all(almanac.message(message).attempts == 1 for message in posted)
    assert len(almanac.runs("s1")) + len(almanac.runs("s2")) == 6


def test_a_run_that_ended_while_no_daemon_was_there_is_noticed(almanac: ScheduleHarness) -> None:
    message = almanac.post()
    almanac.deliver()
    almanac.end(almanac.message(message).run_id, RunStatus.COMPLETED)
    almanac.beside().postman.claim(1)

    assert almanac.message(message).status is MessageStatus.ACKED


def test_a_daemon_that_dies_while_it_delivers_leaves_nothing_behind(units: Units) -> None:
    def die() -> None:
        raise Died

    dying = ScheduleHarness(units, on_take=die)
    message = dying.post()
    with pytest.raises(Died):
        dying.deliver()
    assert dying.runs() == []
    assert dying.message(message) == message

    restarted = dying.beside()
    restarted.deliver()
    assert len(restarted.runs()) == 1
    assert restarted.message(message).attempts == 1


def test_a_message_for_which_no_run_can_be_made_is_given_up_too(almanac: ScheduleHarness) -> None:
    message = almanac.post()
    fine = almanac.post(session_id="s2")
    almanac.catalogue.known.clear()
    almanac.deliver()
    assert almanac.message(message).reason == "route_not_found: there is no route 'a'"
    assert almanac.message(fine).attempts == 1
    for wait in WAITS_MS:
        almanac.deliver(wait)

    assert almanac.message(message).status is MessageStatus.DEAD
    assert almanac.message(message).run_ids == ()


def test_a_damaged_message_does_not_hold_up_the_others(database: UnitsOnDatabase) -> None:
    almanac = ScheduleHarness(database.units)
    damaged, fine = almanac.post(), almanac.post(session_id="s2")
    with database.engine.begin() as connection:
        connection.execute(
            sa.text("UPDATE messages SET body = '{' WHERE message_id = :id"),
            {"id": damaged.message_id},
        )
    almanac.deliver()

    assert almanac.message(fine).status is MessageStatus.DELIVERING
    assert almanac.mailboxes.page(S1, PAGE).items == ()
    with almanac.units.read() as unit:
        assert unit.messages.waiting_in("s1") == 0


def test_a_session_with_mail_is_not_idle(almanac: ScheduleHarness) -> None:
    message = almanac.post()
    with pytest.raises(Conflict) as refused:
        sessions(almanac).end(ALICE, "s1", None)
    assert refused.value.code == "session_not_idle"
    assert refused.value.params == {"blockers": ["pending_mail"]}

    bury(almanac, message)
    sessions(almanac).end(ALICE, "s1", None)
    with pytest.raises(Conflict) as ended:
        almanac.post()
    assert ended.value.code == "session_ended"
    with pytest.raises(Conflict) as still:
        almanac.mailboxes.retry(ALICE, S1, message.message_id)
    assert still.value.code == "session_ended"


def test_mail_for_an_agent_goes_to_a_session_of_its_own(almanac: ScheduleHarness) -> None:
    with almanac.units.write() as unit:
        unit.agents.add(make_agent("scout"))
    first = almanac.post(session_id=None, agent_id="scout")
    second = almanac.post(session_id=None, agent_id="scout")
    almanac.deliver()

    assert first.session_id == second.session_id == "mail-scout"
    session = sessions(almanac).get("mail-scout")
    assert (session.agent_id, session.owner_id) == ("scout", "daemon")
    [run] = almanac.runs("mail-scout")
    assert (run.agent_id, run.user_id) == ("scout", "alice")
    box = Mailbox(agent_id="scout")
    listed = almanac.mailboxes.page(box, PAGE).items
    assert {message.message_id for message in listed} == {first.message_id, second.message_id}
    assert almanac.mailboxes.ack(ALICE, box, second.message_id).status is MessageStatus.ACKED
    assert len(almanac.mailboxes.page(Mailbox(session_id="mail-scout"), PAGE).items) == 2


def test_a_session_that_only_looks_like_an_agents_mail_gets_none(almanac: ScheduleHarness) -> None:
    with almanac.units.write() as unit:
        unit.agents.add(make_agent("scout"))
        unit.sessions.add(make_session("mail-scout"))
    with pytest.raises(Conflict) as taken:
        almanac.post(session_id=None, agent_id="scout")

    assert taken.value.code == "mail_session_taken"


@pytest.mark.parametrize(
    ("wanted", "error", "code"),
    [
        (NewMessage(content="x"), Invalid, "message_address_invalid"),
        (
            NewMessage(content="x", session_id="s1", agent_id="default"),
            Invalid,
            "message_address_invalid",
        ),
        (NewMessage(content=" \n", session_id="s1"), Invalid, "message_empty"),
        (
            NewMessage(content="é" * (MAX_CONTENT_BYTES // 2 + 1), session_id="s1"),
            LimitExceeded,
            "message_too_large",
        ),
        (
            NewMessage(content="x", session_id="s1", subject="two\nlines"),
            Invalid,
            "message_subject_invalid",
        ),
        (
            NewMessage(content="x", session_id="s1", metadata={"long": "x" * 20_000}),
            Invalid,
            "message_metadata_too_large",
        ),
        (NewMessage(content="x", session_id="nowhere"), NotFound, "session_not_found"),
        (NewMessage(content="x", agent_id="nobody"), NotFound, "agent_not_found"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_message_that_cannot_be_sent_is_refused(
    almanac: ScheduleHarness, wanted: NewMessage, error: type[Exception], code: str
) -> None:
    with pytest.raises(error) as refused:
        almanac.mailboxes.post(ALICE, wanted)

    assert getattr(refused.value, "code", None) == code
    assert almanac.mailboxes.page(S1, PAGE).items == ()


@pytest.mark.parametrize("text", ODD_TEXTS.values(), ids=ODD_TEXTS.keys())
def test_any_text_arrives_as_it_was_sent(almanac: ScheduleHarness, text: str) -> None:
    message = almanac.post(text)

    assert almanac.message(message).content == text
    almanac.deliver()
    assert almanac.message(message).status is MessageStatus.DELIVERING


def test_a_mailbox_takes_so_many_messages_and_no_more(almanac: ScheduleHarness) -> None:
    first = almanac.post()
    with almanac.units.write() as unit:
        for number in range(MAX_WAITING - 1):
            unit.messages.add(replace(first, message_id=f"msg_{number}"))
    with pytest.raises(Conflict) as refused:
        almanac.post()

    assert refused.value.code == "mailbox_full"
    almanac.mailboxes.ack(ALICE, S1, first.message_id)
    almanac.post()


def test_the_same_call_sends_one_message(almanac: ScheduleHarness) -> None:
    mail = RunMail(almanac.mailboxes)
    sender = MailSender(user_id="alice", run_id="run_1", session_id="s1", agent_id="default")
    wanted = NewMessage(content="hello", session_id="s2")
    first = mail.send(sender, wanted, call_digest="one")
    again = mail.send(sender, replace(wanted, content="changed"), call_digest="one")
    other = mail.send(sender, wanted, call_digest="two")

    assert again == first
    assert other.message_id != first.message_id
    assert first.sender == sender


@pytest.mark.parametrize("target", ["theirs", "nowhere", "\x00", "half \ud800"])
def test_a_run_cannot_tell_a_foreign_session_from_none(
    almanac: ScheduleHarness, target: str
) -> None:
    with almanac.units.write() as unit:
        unit.sessions.add(make_session("theirs", owner_id="bob"))
    sender = MailSender(user_id="alice", run_id="run_1", session_id="s1", agent_id="default")
    with pytest.raises(NotFound) as refused:
        RunMail(almanac.mailboxes).send(
            sender, NewMessage(content="hello", session_id=target), call_digest="one"
        )

    assert refused.value.detail == f"there is no session {target!r} of this user"


def test_mail_that_causes_mail_ends(almanac: ScheduleHarness) -> None:
    mail = RunMail(almanac.mailboxes)
    message = almanac.post()
    for hops in range(1, MAX_HOPS):
        assert message.hops == hops
        almanac.deliver()
        run_id = almanac.message(message).run_id
        sender = MailSender(user_id="alice", run_id=run_id, session_id="s1", agent_id="default")
        message = mail.send(
            sender, NewMessage(content="on", session_id="s1"), call_digest=f"call {hops}"
        )
        almanac.end(run_id, RunStatus.COMPLETED)
    almanac.deliver()
    sender = replace(sender, run_id=almanac.message(message).run_id)
    with pytest.raises(Rejected) as refused:
        mail.send(sender, NewMessage(content="on", session_id="s1"), call_digest="last")

    assert refused.value.code == "mail_goes_in_circles"


def test_a_sidechain_does_not_begin_a_new_chain(almanac: ScheduleHarness) -> None:
    with almanac.units.write() as unit:
        unit.sessions.add(make_session("child", parent_session_id="s1"))
    message = almanac.post()
    almanac.deliver()
    almanac.change(almanac.message(message).run_id, status=RunStatus.RUNNING)
    sender = MailSender(user_id="alice", run_id="run_child", session_id="child", agent_id="default")
    sent = RunMail(almanac.mailboxes).send(
        sender, NewMessage(content="on", session_id="s1"), call_digest="child"
    )

    assert sent.hops == 2


async def test_an_agent_writes_to_another_session_and_that_one_reads_it(
    database: UnitsOnDatabase, harness: RunHarness, fake: FakeModel
) -> None:
    service = MailboxService(units=database.units, clock=harness.clock)
    writing = RunHarness(database.units, harness.settings, tools=(SendMail(RunMail(service)),))
    fake.queue(
        call("send_mail", {"to_session_id": "s2", "subject": "Roof", "content": "It leaks."}),
        "I have written.",
    )
    sent = await writing.run("write to s2")
    assert sent.run.status is RunStatus.COMPLETED
    [result] = writing.results(sent.run.run_id)
    assert result["status"] == "ok", result
    almanac = ScheduleHarness(database.units, clock=harness.clock)
    almanac.deliver()
    [run] = almanac.runs("s2")
    fake.queue("Noted.")
    read = await writing.execute(run.run_id)
    almanac.deliver()

    assert read.run.status is RunStatus.COMPLETED
    letter = fake.requests[-1].turns[-1].text
    assert "\nFrom: agent default in session s1, for user alice\nSubject: Roof\n" in letter
    assert letter.endswith("\n\n> It leaks.")
    [message] = service.page(Mailbox(session_id="s2"), PAGE).items
    assert message.status is MessageStatus.ACKED
    assert message.created_at_ms >= NOW
    await writing.providers.close()
