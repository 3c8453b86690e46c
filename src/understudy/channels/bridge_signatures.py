"""Authentication of incoming requests: signatures, tokens, and their time window."""

import hashlib
import hmac
import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from understudy.access.signing_keys import public_key_in_hex
from understudy.channels.bridge_model import Bridge, Connector
from understudy.core.errors import coded_error

WINDOW_MS: Final = 5 * 60 * 1000
MAX_TIMESTAMP_CHARS: Final = 20
Headers = Mapping[str, str]


def check_sender(bridge: Bridge, headers: Headers, body: bytes, *, now_ms: int) -> None:
    """Refuse a request without a valid signature or token, or one that is too old."""
    if not CHECKS[bridge.connector](bridge, headers, body, now_ms):
        raise coded_error("channels/bridge_signature_invalid", connector=bridge.connector)


def greeting(bridge: Bridge, document: Any) -> Mapping[str, Any] | None:
    """The answer to a verification request of a connector; None for all others."""
    if not isinstance(document, dict):
        return None
    if bridge.connector is Connector.SLACK and document.get("type") == "url_verification":
        return {"challenge": str(document.get("challenge", ""))[:1000]}
    if bridge.connector is Connector.DISCORD and document.get("type") == 1:
        return {"type": 1}
    return None


def answer_for(bridge: Bridge, receipt: Mapping[str, Any]) -> Mapping[str, Any]:
    """The answer that a connector expects once a message was accepted."""
    if bridge.connector is Connector.DISCORD:
        taken = bool(receipt["message_ids"])
        # Visible only to the sender: the room itself shows the message.
        text = "Passed on." if taken else "Not passed on."
        return {"type": 4, "data": {"content": text, "flags": 64}}
    return {} if bridge.connector is Connector.MATRIX else receipt


def signature(secret: str, timestamp: str, body: bytes) -> str:
    """HMAC-SHA256 over the timestamp, a full stop and the body, as our header carries it."""
    signed = timestamp.encode() + b"." + body
    return "sha256=" + hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()


def signed_headers(secret: str, delivery_id: str, timestamp_ms: int, body: bytes) -> Headers:
    """The headers of our own webhooks."""
    return {
        "X-Understudy-Delivery": delivery_id,
        "X-Understudy-Timestamp": str(timestamp_ms),
        "X-Understudy-Signature": signature(secret, str(timestamp_ms), body),
    }


def encoded(document: Any) -> bytes:
    """A JSON body in ASCII, so that a lone surrogate is still valid JSON."""
    return json.dumps(document, separators=(",", ":")).encode()


def _is_same(given: str | None, expected: str) -> bool:
    # Without a secret every request is refused.
    return bool(expected) and hmac.compare_digest((given or "").encode(), expected.encode())


def _is_recent(timestamp: str | None, now_ms: int, *, unit_ms: int) -> bool:
    text = timestamp or ""
    if not (text.isascii() and text.isdigit() and len(text) <= MAX_TIMESTAMP_CHARS):
        return False
    return abs(int(text) * unit_ms - now_ms) <= WINDOW_MS


def _webhook(bridge: Bridge, headers: Headers, body: bytes, now_ms: int) -> bool:
    timestamp = headers.get("x-understudy-timestamp")
    secret = bridge.credentials.get("secret", "")
    if not secret or not _is_recent(timestamp, now_ms, unit_ms=1):
        return False
    return _is_same(headers.get("x-understudy-signature"), signature(secret, timestamp or "", body))


def _slack(bridge: Bridge, headers: Headers, body: bytes, now_ms: int) -> bool:
    timestamp = headers.get("x-slack-request-timestamp")
    secret = bridge.credentials.get("signing_secret", "")
    if not secret or not _is_recent(timestamp, now_ms, unit_ms=1000):
        return False
    signed = b"v0:" + (timestamp or "").encode() + b":" + body
    expected = "v0=" + hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()
    return _is_same(headers.get("x-slack-signature"), expected)


def _telegram(bridge: Bridge, headers: Headers, _: bytes, __: int) -> bool:
    given = headers.get("x-telegram-bot-api-secret-token")
    return _is_same(given, bridge.credentials.get("secret_token", ""))


def _matrix(bridge: Bridge, headers: Headers, _: bytes, __: int) -> bool:
    token = bridge.credentials.get("hs_token", "")
    return bool(token) and _is_same(headers.get("authorization"), f"Bearer {token}")


def _discord(bridge: Bridge, headers: Headers, body: bytes, now_ms: int) -> bool:
    from cryptography.exceptions import InvalidSignature

    timestamp = headers.get("x-signature-timestamp")
    if not _is_recent(timestamp, now_ms, unit_ms=1000):
        return False
    try:
        key = public_key_in_hex(bridge.credentials.get("public_key", ""))
        signed = bytes.fromhex(headers.get("x-signature-ed25519", ""))
        key.verify(signed, (timestamp or "").encode() + body)
    except (ValueError, InvalidSignature):
        return False
    return True


def _nobody(_: Bridge, __: Headers, ___: bytes, ____: int) -> bool:
    return False


CHECKS: Final[Mapping[Connector, Callable[[Bridge, Headers, bytes, int], bool]]] = {
    Connector.WEBHOOK: _webhook,
    Connector.SLACK: _slack,
    Connector.TELEGRAM: _telegram,
    Connector.DISCORD: _discord,
    Connector.MATRIX: _matrix,
    # Mail is fetched, never posted here.
    Connector.EMAIL: _nobody,
}
