"""Bridges: what comes in is posted once, what goes out is sent within the session's scope."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from tests.support.channel_harness import PAGE, ROOM, ChannelHarness
from tests.support.factories import ADMIN
from tests.support.mail_server import MailServer, mail_server
from tests.support.receiver import Receiver
from understudy.channels.bridge_model import Bridge, BridgeDelivery, Connector
from understudy.channels.bridge_signatures import signature, signed_headers
from understudy.channels.bridge_worker import BridgeDuty
from understudy.channels.bridges import BridgeService
from understudy.channels.posting import Posting
from understudy.core.errors import Conflict, Invalid, Rejected
from understudy.deliveries.webhook import WebhookSender
from understudy.storage.unit import Units


class Bridges:
    """A room with ann and bob, and the bridges out of it."""

    def __init__(self, units: Units) -> None:
        self.channels = ChannelHarness(units)
        posting = Posting(clock=self.channels.clock, posted=self.queue)
        self.channels.use(posting)
        self.service = BridgeService(units=units, clock=self.channels.clock, posting=posting)
        self.duty = BridgeDuty(
            units=units, clock=self.channels.clock, service=self.service, sender=WebhookSender()
        )
        self.channels.room("ann", "bob")

    def queue(self, *arguments: Any) -> None:
        self.service.queue(*arguments)

    def make(self, connector: Connector = Connector.WEBHOOK, **fields: Any) -> str:
        made = self.service.create(ADMIN, ROOM, "b1", connector, **fields)
        return made.secret or ""

    def receive(self, secret: str, **document: Any) -> Any:
        body = json.dumps(document).encode()
        headers = signed_headers(secret, "d", self.channels.clock.now_ms(), body)
        return self.service.hear("b1", {k.lower(): v for k, v in headers.items()}, body)

    async def work(self) -> None:
        claim = self.duty.claim(8)
        for item in claim.items:
            await self.duty.do(item)

    def deliveries(self) -> list[BridgeDelivery]:
        return list(self.service.deliveries(ROOM, "b1", PAGE).items)


@pytest.fixture
def bridges(units: Units) -> Bridges:
    return Bridges(units)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as receiver:
        yield receiver


@pytest.fixture
def mail() -> Iterator[MailServer]:
    with mail_server() as box:
        yield box


def test_what_comes_in_is_posted_once_under_the_name_of_its_actor(bridges: Bridges) -> None:
    secret = bridges.make(identities={"U1": "alice"})
    first = bridges.receive(secret, id="1", text="Hello @bob", author="U1")
    again = bridges.receive(secret, id="1", text="Hello @bob", author="U1")
    bridges.channels.work()

    assert first == again
    assert bridges.channels.log() == [("alice", "Hello @bob")]
    assert bridges.channels.speaking() == ["bob"]


def test_a_reply_outside_is_a_reply_here(bridges: Bridges) -> None:
    secret = bridges.make(identities={"U1": "alice"})
    [root] = bridges.receive(secret, id="1", text="One", author="U1")["message_ids"]
    [reply] = bridges.receive(secret, id="2", text="Two", author="U1", thread="1")["message_ids"]

    assert bridges.channels.service.message(ROOM, reply).thread_root_message_id == root


def test_a_stranger_is_not_heard_unless_guests_are_welcome(bridges: Bridges) -> None:
    secret = bridges.make()
    refused = bridges.receive(secret, id="1", text="Hi", author="eve")
    assert [each["reason"] for each in refused["ignored"]] == ["sender_not_a_member"]
    assert bridges.channels.log() == []
    bridges.service.update(ADMIN, ROOM, "b1", unknown_senders="guest")
    bridges.receive(secret, id="2", text="Hi", author="eve", author_name="Eve")
    bridges.receive(secret, id="3", text="Again", author="eve", author_name="Eve")

    assert bridges.channels.log() == [("bridge:b1:eve", "Hi"), ("bridge:b1:eve", "Again")]


def test_who_cannot_sign_is_not_told_whether_there_is_a_bridge(bridges: Bridges) -> None:
    bridges.make()
    for bridge_id in ("b1", "gone"):
        with pytest.raises(Rejected) as refused:
            bridges.service.hear(bridge_id, {}, b"{}")
        assert refused.value.code == "bridge_signature_invalid"


@pytest.mark.one_database
@pytest.mark.parametrize("key", ["00" * 32, "01" + "00" * 31, "ab" * 31, "no hex"])
def test_a_discord_key_that_anybody_could_sign_for_is_refused(bridges: Bridges, key: str) -> None:
    with pytest.raises(Invalid) as refused:
        bridges.make(Connector.DISCORD, credentials={"public_key": key})

    assert [each.pointer for each in refused.value.errors] == ["/credentials/public_key"]


def test_credentials_are_never_shown_again(bridges: Bridges) -> None:
    secret = bridges.make()
    stored = bridges.service.get(ROOM, "b1")

    assert secret
    assert stored.credential_names == ("secret",)
    assert secret in bridges.service.secrets()
    with pytest.raises(Conflict):
        bridges.make()


@pytest.mark.anyio
async def test_what_is_said_goes_out_signed_and_once(bridges: Bridges, receiver: Receiver) -> None:
    secret = bridges.make(outgoing_url=receiver.url, identities={"U1": "alice"})
    bridges.receive(secret, id="1", text="From outside", author="U1")
    bridges.channels.say("From inside")
    await bridges.work()
    await bridges.work()

    [post] = receiver.requests
    assert json.loads(post.body)["text"] == "From inside"
    timestamp = post.headers["x-understudy-timestamp"]
    assert post.headers["x-understudy-signature"] == signature(secret, timestamp, post.body)
    assert [each.status for each in bridges.deliveries()] == ["delivered"]


@pytest.mark.anyio
async def test_an_agent_speaks_outside_only_within_its_credential_scope(
    bridges: Bridges, receiver: Receiver
) -> None:
    bridges.make(outgoing_url=receiver.url)
    scopes = {
        "ann": {"connector_allow": ["slack"], "connector_credential_allow": ["*"]},
        "bob": {"connector_allow": ["webhook"], "connector_credential_allow": ["b1"]},
    }
    with bridges.channels.units.write() as unit:
        for name, scope in scopes.items():
            session = unit.sessions.get(name, lock=True)
            assert session is not None
            unit.sessions.update(
                replace(session, credential_scope=scope, version=2), expected_version=1
            )
    bridges.channels.say("Well?")
    bridges.channels.end("ann", "A secret of ours.")
    bridges.channels.end("bob", "Fine.")
    await bridges.work()

    said = sorted(json.loads(post.body)["text"] for post in receiver.requests)
    assert said == ["Fine.", "Well?"]
    [refused] = [each for each in bridges.deliveries() if each.status == "refused"]
    assert "does not allow webhook" in (refused.last_error or "")


@pytest.mark.anyio
async def test_a_target_that_is_down_is_tried_again(bridges: Bridges) -> None:
    bridges.make(outgoing_url="http://127.0.0.1:9/")
    bridges.channels.say("Well?")
    await bridges.work()

    [delivery] = bridges.deliveries()
    assert (delivery.status, delivery.attempts) == ("pending", 1)
    assert delivery.due_at_ms is not None


@pytest.mark.anyio
async def test_mail_comes_in_by_imap_and_goes_out_by_smtp(
    bridges: Bridges, mail: MailServer
) -> None:
    bridges.make(Connector.EMAIL, identities={"ann@example.org": "alice"}, **mail.fields())
    mail.put(sender="Ann <Ann@example.org>", text="Is it ready?\n\n> old", message_id="<1@x>")
    mail.put(sender="eve@example.org", text="Buy!", message_id="<2@x>")
    await bridges.work()

    assert bridges.channels.log() == [("alice", "Is it ready?")]
    assert mail.seen == {1, 2}
    bridges.channels.work()
    bridges.channels.end("ann", "Not yet.")
    await bridges.work()
    [sent] = mail.sent
    assert "Not yet." in sent
    assert "In-Reply-To: <1@x>" in sent
    own_id = next(line for line in sent.splitlines() if line.startswith("Message-ID:"))
    mail.put(
        sender="ann@example.org", text="When?", message_id="<3@x>", in_reply_to=own_id[12:].strip()
    )
    bridges.channels.clock.advance(20_000)
    await bridges.work()

    last = bridges.channels.service.messages(ROOM, PAGE).items[-1]
    assert (last.content, last.thread_root_message_id is not None) == ("When?", True)


@pytest.mark.anyio
async def test_a_mailbox_with_another_password_takes_nothing_down(
    bridges: Bridges, mail: MailServer
) -> None:
    fields = mail.fields()
    bridges.make(Connector.EMAIL, settings=fields["settings"], credentials={"imap_password": "no"})
    await bridges.work()
    with bridges.channels.units.read() as unit:
        bridge = unit.bridges.get("b1")

    assert isinstance(bridge, Bridge)
    assert bridge.due_at_ms is not None
    assert bridge.due_at_ms > bridges.channels.clock.now_ms()
