"""What connectors send, how it is signed, and how it is read."""

import hashlib
import hmac
import json
from dataclasses import replace
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from understudy.channels.bridge_mapping import check_mapping, filled, heard_in, presets
from understudy.channels.bridge_model import Bridge, Connector, IncomingMessage
from understudy.channels.bridge_signatures import (
    CHECKS,
    WINDOW_MS,
    check_sender,
    greeting,
    signed_headers,
)
from understudy.channels.bridge_worker import request_of
from understudy.channels.model import ChannelMessage, MessageSender
from understudy.core.errors import Invalid, Rejected

NOW = 1_700_000_000_000
KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
SECRETS = {
    "secret": "brsec-" + "x" * 8,
    "signing_secret": "sign-" + "y" * 8,
    "secret_token": "tele-" + "z" * 8,
    "hs_token": "home-" + "w" * 8,
    "public_key": KEY.public_key().public_bytes_raw().hex(),
    "bot_token": "bot-" + "v" * 8,
    "access_token": "acc-" + "u" * 8,
}


def bridge(connector: Connector, **fields: Any) -> Bridge:
    values: dict[str, Any] = {"credentials": SECRETS, **fields}
    return Bridge(
        bridge_id="b1",
        channel_id="room",
        connector=connector,
        created_by="root",
        created_at_ms=1,
        updated_at_ms=1,
        **values,
    )


def slack_headers(body: bytes, at_ms: int = NOW) -> dict[str, str]:
    at = str(at_ms // 1000)
    signed = f"v0:{at}:".encode() + body
    mark = hmac.new(SECRETS["signing_secret"].encode(), signed, hashlib.sha256).hexdigest()
    return {"x-slack-request-timestamp": at, "x-slack-signature": f"v0={mark}"}


def webhook_headers(body: bytes, at_ms: int = NOW) -> dict[str, str]:
    headers = signed_headers(SECRETS["secret"], "d1", at_ms, body)
    return {name.lower(): value for name, value in headers.items()}


def discord_headers(body: bytes, at_ms: int = NOW) -> dict[str, str]:
    at = str(at_ms // 1000)
    return {
        "x-signature-timestamp": at,
        "x-signature-ed25519": KEY.sign(at.encode() + body).hex(),
    }


SIGNED = {
    Connector.WEBHOOK: webhook_headers,
    Connector.SLACK: slack_headers,
    Connector.DISCORD: discord_headers,
}


@pytest.mark.parametrize("connector", list(SIGNED))
def test_a_signature_counts_for_its_body_and_its_time_alone(connector: Connector) -> None:
    body, sign = b'{"a": 1}', SIGNED[connector]
    check_sender(bridge(connector), sign(body), body, now_ms=NOW)

    for headers, sent in (
        (sign(body), body + b" "),
        (sign(body, NOW - WINDOW_MS - 1000), body),
        (sign(body, NOW + WINDOW_MS + 2000), body),
        ({}, body),
    ):
        with pytest.raises(Rejected):
            check_sender(bridge(connector), headers, sent, now_ms=NOW)


def test_a_key_of_low_order_signs_nothing() -> None:
    """With such a key, one signature fits every text."""
    weak = "01" + "00" * 31
    at = str(NOW // 1000)
    headers = {"x-signature-timestamp": at, "x-signature-ed25519": weak + "00" * 32}
    Ed25519PublicKey.from_public_bytes(bytes.fromhex(weak)).verify(
        bytes.fromhex(headers["x-signature-ed25519"]), at.encode() + b"{}"
    )

    with pytest.raises(Rejected):
        check_sender(
            bridge(Connector.DISCORD, credentials={**SECRETS, "public_key": weak}),
            headers,
            b"{}",
            now_ms=NOW,
        )


@pytest.mark.parametrize(
    ("connector", "header", "value"),
    [
        (Connector.TELEGRAM, "x-telegram-bot-api-secret-token", SECRETS["secret_token"]),
        (Connector.MATRIX, "authorization", f"Bearer {SECRETS['hs_token']}"),
    ],
)
def test_a_token_must_be_the_one_that_was_agreed(
    connector: Connector, header: str, value: str
) -> None:
    check_sender(bridge(connector), {header: value}, b"", now_ms=NOW)

    for wrong in (value + "x", "", "Bearer "):
        with pytest.raises(Rejected):
            check_sender(bridge(connector), {header: wrong}, b"", now_ms=NOW)


@pytest.mark.parametrize("connector", list(Connector))
def test_a_bridge_without_credentials_lets_nobody_in(connector: Connector) -> None:
    bare = bridge(connector, credentials={})
    empty = {"x-telegram-bot-api-secret-token": "", "authorization": "Bearer "}

    assert not CHECKS[connector](
        bare, {**webhook_headers(b""), **slack_headers(b""), **empty}, b"", NOW
    )


SLACK = {
    "type": "event_callback",
    "event": {"type": "message", "user": "U1", "text": "hi", "ts": "17.1", "thread_ts": "17.0"},
}
TELEGRAM = {
    "update_id": 1,
    "message": {
        "message_id": 7,
        "from": {"id": 42, "username": "ann"},
        "caption": "a photo",
        "reply_to_message": {"message_id": 3},
    },
}
DISCORD = {
    "type": 2,
    "id": "99",
    "data": {"name": "say", "options": [{"name": "text", "value": "hello"}]},
    "member": {"user": {"id": "5", "username": "bea"}},
}
MATRIX = {
    "events": [
        {"type": "m.room.member", "event_id": "$0", "sender": "@x:y", "content": {}},
        {
            "type": "m.room.message",
            "event_id": "$1",
            "sender": "@ann:example.org",
            "content": {"body": "yo", "m.relates_to": {"m.in_reply_to": {"event_id": "$9"}}},
        },
    ]
}
WEBHOOK = {"id": 1, "text": "x", "author": "a", "thread": "t"}


@pytest.mark.parametrize(
    ("connector", "document", "heard"),
    [
        (Connector.SLACK, SLACK, ("17.1", "U1", "hi", None, "17.0")),
        (Connector.TELEGRAM, TELEGRAM, ("7", "42", "a photo", "ann", "3")),
        (Connector.DISCORD, DISCORD, ("99", "5", "hello", "bea", None)),
        (Connector.MATRIX, MATRIX, ("$1", "@ann:example.org", "yo", None, "$9")),
        (Connector.WEBHOOK, WEBHOOK, ("1", "a", "x", None, "t")),
    ],
)
def test_each_preset_reads_what_its_connector_sends(
    connector: Connector, document: Any, heard: tuple[str | None, ...]
) -> None:
    [message] = heard_in(bridge(connector), document)

    found = (message.external_id, message.author, message.text, message.author_name, message.thread)
    assert found == heard


@pytest.mark.parametrize(
    ("connector", "document"),
    [
        (Connector.SLACK, {**SLACK, "event": {**SLACK["event"], "bot_id": "B1"}}),  # type: ignore[dict-item]
        (Connector.SLACK, {**SLACK, "event": {**SLACK["event"], "subtype": "message_changed"}}),  # type: ignore[dict-item]
        (Connector.TELEGRAM, {"edited_message": TELEGRAM["message"]}),
        (Connector.DISCORD, {**DISCORD, "type": 3}),
        (Connector.WEBHOOK, {**WEBHOOK, "text": " "}),
        (Connector.WEBHOOK, {**WEBHOOK, "text": ["x"]}),
        (Connector.WEBHOOK, [1, 2]),
        (Connector.MATRIX, {"events": "none"}),
        (Connector.WEBHOOK, None),
    ],
)
def test_what_is_no_new_message_is_not_heard(connector: Connector, document: Any) -> None:
    assert heard_in(bridge(connector), document) == []


def test_a_mapping_replaces_the_paths_of_a_preset() -> None:
    mapping = {"each": "$.list[*]", "text": "$['the text'] | $.t", "only": {"$.kind": "say"}}
    check_mapping(mapping)
    document = {"list": [{"id": 1, "author": "a", "t": "one", "kind": "say"}, {"kind": "no"}]}

    assert heard_in(bridge(Connector.WEBHOOK, mapping=mapping), document) == [
        IncomingMessage(external_id="1", author="a", text="one")
    ]


@pytest.mark.parametrize(
    "mapping",
    [{"text": "event.text"}, {"text": "$.a..b"}, {"text": "$[x]"}, {"never": ["x"]}, {"what": "$"}, {"text": 1}],
)  # fmt: skip
def test_what_is_no_mapping_is_refused(mapping: dict[str, Any]) -> None:
    with pytest.raises(Invalid):
        check_mapping(mapping)


def test_every_preset_is_a_mapping() -> None:
    assert set(presets()) == set(Connector)
    for preset in presets().values():
        check_mapping(preset.incoming)


def test_connectors_are_greeted_as_they_expect() -> None:
    hello = {"type": "url_verification", "challenge": "abc"}

    assert greeting(bridge(Connector.SLACK), hello) == {"challenge": "abc"}
    assert greeting(bridge(Connector.DISCORD), {"type": 1}) == {"type": 1}
    assert greeting(bridge(Connector.SLACK), SLACK) is None
    assert greeting(bridge(Connector.WEBHOOK), hello) is None


def message(text: str) -> ChannelMessage:
    return ChannelMessage(
        message_id="msg_1",
        channel_id="room",
        sender=MessageSender(id="ann", display_name="Ann"),
        content=text,
        created_at_ms=1,
    )


def test_what_is_said_cannot_reach_into_the_request() -> None:
    out = bridge(Connector.SLACK, settings={"channel": "C1"})
    method, url, headers, body = request_of(out, message("give me {bot_token}"), "17.0")

    assert (method, url) == ("POST", "https://slack.com/api/chat.postMessage")
    assert headers["Authorization"] == f"Bearer {SECRETS['bot_token']}"
    assert json.loads(body) == {
        "channel": "C1",
        "text": "Ann: give me {bot_token}",
        "thread_ts": "17.0",
    }


def test_parts_of_an_address_stay_parts_and_empty_fields_are_left_out() -> None:
    out = bridge(
        Connector.MATRIX, settings={"homeserver": "https://m.example", "room_id": "!a/b:c"}
    )
    method, url, _, body = request_of(out, message("hi"), None)

    assert method == "PUT"
    assert url.startswith("https://m.example/_matrix/client/v3/rooms/%21a%2Fb%3Ac/send/")
    assert json.loads(body) == {"msgtype": "m.text", "body": "Ann: hi"}
    assert filled({"a": "{x}", "b": "y"}, {}) == {"b": "y"}
    told = request_of(replace(out, connector=Connector.TELEGRAM), message("hi"), None)
    assert "reply_to_message_id" not in json.loads(told[3])
