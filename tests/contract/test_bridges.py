"""Bridges: what comes in is posted once, what goes out is sent within the session's scope."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from tests.support.channel_harness import PAGE, ROOM, ChannelHarness, person
from tests.support.factories import ADMIN, ALICE
from tests.support.mail_server import MailServer, mail_server
from tests.support.receiver import Receiver
from understudy.channels.bridge_model import Bridge, BridgeDelivery, Connector
from understudy.channels.bridge_signatures import signature, signed_headers
from understudy.channels.bridge_worker import BridgeDuty
from understudy.channels.bridges import BridgeService
from understudy.channels.posting import Posting
from understudy.core.errors import Conflict, Invalid, Rejected
from understudy.core.principal import Principal, Role
from understudy.deliveries.webhook import WebhookSender
from understudy.storage.unit import Units

MAL = Principal(user_id="mal", role=Role.OPERATOR)
TOKEN = "xoxb-" + "of-alice"
SLACK: dict[str, Any] = {
    "credentials": {"signing_secret": "sign" + "-it", "bot_token": TOKEN},
    "settings": {"channel": "C1"},
}


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

    def make(
        self,
        connector: Connector = Connector.WEBHOOK,
        *,
        principal: Principal = ADMIN,
        **fields: Any,
    ) -> str:
        made = self.service.create(principal, ROOM, "b1", connector, **fields)
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
@pytest.mark.parametrize(
    ("ann", "because"),
    [
        ({"connector_allow": ["slack"]}, "does not allow webhook: connector_allow lacks it"),
        ({"connector_deny": ["*"]}, "does not allow webhook: connector_deny has it"),
        (
            {"connector_credential_allow": ["b2"]},
            "does not allow b1: connector_credential_allow lacks it",
        ),
    ],
)
async def test_an_agent_speaks_outside_only_within_its_credential_scope(
    bridges: Bridges, receiver: Receiver, ann: dict[str, list[str]], because: str
) -> None:
    bridges.make(outgoing_url=receiver.url)
    scopes = {
        "ann": ann,
        "bob": {"connector_allow": ["webhook"]},
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
    assert because in (refused.last_error or "")


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


def test_only_its_maker_or_an_admin_changes_or_deletes_a_bridge(bridges: Bridges) -> None:
    bridges.make(Connector.SLACK, principal=ALICE, **SLACK)
    with pytest.raises(Rejected) as refused:
        bridges.service.update(MAL, ROOM, "b1", outgoing_url="http://attacker.example/")
    assert refused.value.code == "bridge_not_yours"
    with pytest.raises(Rejected):
        bridges.service.delete(MAL, ROOM, "b1")
    with pytest.raises(Rejected):
        bridges.channels.service.delete(MAL, ROOM)

    assert bridges.service.get(ROOM, "b1").version == 1
    assert not bridges.service.update(ALICE, ROOM, "b1", is_enabled=False).is_enabled
    assert bridges.service.update(ADMIN, ROOM, "b1", is_enabled=True).is_enabled
    bridges.service.delete(ADMIN, ROOM, "b1")


@pytest.mark.anyio
async def test_a_new_target_never_gets_the_stored_credentials(
    bridges: Bridges, receiver: Receiver
) -> None:
    bridges.make(Connector.SLACK, principal=ALICE, **SLACK)
    with pytest.raises(Invalid) as refused:
        bridges.service.update(ADMIN, ROOM, "b1", outgoing_url=receiver.url)
    assert refused.value.code == "bridge_credentials_dropped"
    assert "bot_token, signing_secret" in str(refused.value)
    given = {"signing_secret": "new" + "-one", "bot_token": "xoxb-" + "new"}
    bridges.service.update(ADMIN, ROOM, "b1", outgoing_url=receiver.url, credentials=given)
    bridges.channels.say("Hello")
    await bridges.work()

    [post] = receiver.requests
    assert TOKEN not in f"{post.headers} {post.body!r}"
    # The target stays the same, so the credentials stay as well.
    assert bridges.service.update(ALICE, ROOM, "b1", settings={"channel": "C2"}).version == 3


@pytest.mark.one_database
@pytest.mark.parametrize(
    ("connector", "fields", "change"),
    [
        (
            Connector.MATRIX,
            {"credentials": {"hs_token": "h" * 8}, "settings": {"homeserver": "https://m.example"}},
            {"homeserver": "https://attacker.example"},
        ),
        (
            Connector.SLACK,
            {**SLACK, "outgoing_url": "https://{channel}/post"},
            {"channel": "attacker.example"},
        ),
        *(
            (Connector.EMAIL, {"credentials": {"smtp_password": "p" * 8}}, {name: value})
            for name, value in {
                "smtp_host": "attacker.example",
                "smtp_port": "26",
                "smtp_security": "none",
                "imap_host": "attacker.example",
                "imap_port": "26",
                "imap_security": "none",
            }.items()
        ),
    ],
)
def test_every_setting_that_moves_the_target_drops_the_credentials(
    bridges: Bridges, connector: Connector, fields: dict[str, Any], change: dict[str, str]
) -> None:
    bridges.make(connector, principal=ALICE, **fields)
    with pytest.raises(Invalid) as refused:
        bridges.service.update(ALICE, ROOM, "b1", settings=change)

    assert refused.value.code == "bridge_credentials_dropped"


def test_an_operator_maps_outside_people_to_themselves_alone(bridges: Bridges) -> None:
    with pytest.raises(Rejected) as refused:
        bridges.make(principal=MAL, identities={"x": "alice"})
    assert refused.value.code == "bridge_identity_not_yours"
    bridges.make(principal=MAL, identities={"x": "mal"})
    with pytest.raises(Rejected):
        bridges.service.update(MAL, ROOM, "b1", identities={"x": "alice"})

    bridges.service.update(ADMIN, ROOM, "b1", identities={"x": "alice"})
    # What an admin mapped stays; anything new has to be oneself.
    kept = {"x": "alice", "y": "mal"}
    assert bridges.service.update(MAL, ROOM, "b1", identities=kept).identities == kept


def test_the_audit_names_who_set_the_bridge_up(bridges: Bridges) -> None:
    secret = bridges.make(principal=ALICE, identities={"x": "alice"})
    bridges.receive(secret, id="1", text="Hello", author="x")

    with bridges.channels.units.read() as unit:
        entry = unit.audit.page(PAGE, resource=None, actor=None).items[0]
    assert (entry.actor, entry.reason) == ("bridge b1 of alice", "as alice")


def test_nobody_takes_the_name_of_another_member(bridges: Bridges) -> None:
    service = bridges.channels.service
    for name in (" ALICE", "\uff21lice"):
        with pytest.raises(Conflict) as refused:
            service.put_member(MAL, ROOM, replace(person("mal"), display_name=name))
        assert (refused.value.code, refused.value.params["member_id"]) == ("name_taken", "alice")

    secret = bridges.make(unknown_senders="guest")
    bridges.receive(secret, id="1", text="I am Alice", author="eve", author_name="Alice")
    [message] = service.messages(ROOM, PAGE).items
    assert message.sender.display_name == "b1:eve"
    # A member keeps its own name, in whatever case.
    service.put_member(ALICE, ROOM, replace(person("alice"), display_name="ALICE"))


@pytest.mark.one_database
@pytest.mark.parametrize(
    ("fields", "pointer"),
    [
        ({"settings": {"outgoing_url": "http://there.example/"}}, "/settings/outgoing_url"),
        ({"settings": {"bot_token": TOKEN}, "outgoing_url": "https://x.example/{bot_token}"}, "/settings/bot_token"),
        ({"credentials": {**SLACK["credentials"], "channel": "C1"}}, "/credentials/channel"),
    ],
)  # fmt: skip
def test_a_field_in_the_wrong_place_is_refused_by_name(
    bridges: Bridges, fields: dict[str, Any], pointer: str
) -> None:
    with pytest.raises(Invalid) as refused:
        bridges.make(Connector.SLACK, **{**SLACK, **fields})

    assert [each.pointer for each in refused.value.errors] == [pointer]
    assert "outgoing_url" in str(refused.value)


@pytest.mark.one_database
@pytest.mark.parametrize("setting", ["imap_host", "smtp_host"])
@pytest.mark.parametrize("host", ["169.254.169.254", "fe80::1"])
def test_mail_goes_to_no_address_that_webhooks_may_not_reach(
    bridges: Bridges, setting: str, host: str
) -> None:
    with pytest.raises(Invalid) as refused:
        bridges.make(Connector.EMAIL, settings={setting: host})

    assert [each.pointer for each in refused.value.errors] == [f"/settings/{setting}"]


@pytest.mark.one_database
@pytest.mark.anyio
async def test_the_address_of_a_mail_host_is_checked_again_when_it_is_used(
    bridges: Bridges, mail: MailServer
) -> None:
    fields = mail.fields()
    bridges.make(Connector.EMAIL, **fields)
    elsewhere = {**fields["settings"], "smtp_host": "0.0.0.0", "imap_host": "0.0.0.0"}
    with bridges.channels.units.write() as unit:
        stored = unit.bridges.get("b1")
        assert stored is not None
        moved = replace(stored, settings=elsewhere, version=2)
        unit.bridges.update(moved, expected_version=1)
    mail.put(sender="ann@example.org", text="Hello", message_id="<1@x>")
    bridges.channels.say("Hello")
    await bridges.work()

    [delivery] = bridges.deliveries()
    assert (delivery.status, delivery.attempts) == ("dead", 1)
    assert (mail.sent, mail.seen) == ([], set())
