"""The signature by which a receiver knows that a message is ours and fresh."""

import hashlib
import hmac
from collections.abc import Mapping

from understudy import __version__


def signature(secret: str, timestamp_ms: int, body: bytes) -> str:
    """HMAC-SHA256 over the timestamp, a full stop and the body, as the header carries it."""
    signed = f"{timestamp_ms}.".encode() + body
    return "sha256=" + hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()


def headers(secret: str, delivery_id: str, timestamp_ms: int, body: bytes) -> Mapping[str, str]:
    """Everything that goes with a body."""
    return {
        "Content-Type": "application/json",
        "User-Agent": f"understudy/{__version__}",
        "X-Understudy-Delivery": delivery_id,
        "X-Understudy-Timestamp": str(timestamp_ms),
        "X-Understudy-Signature": signature(secret, timestamp_ms, body),
    }
