"""The records of a bridge: a channel's way to and from the world outside."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from understudy.core.errors import coded_error
from understudy.core.records import HIDDEN, OMIT, OMIT_EMPTY

if TYPE_CHECKING:
    from understudy.storage.unit import Unit

MAX_BRIDGES: Final = 32
MAX_ATTEMPTS: Final = 8


class Connector(StrEnum):
    """What a bridge leads to; credential scopes name it."""

    WEBHOOK = "webhook"
    SLACK = "slack"
    TELEGRAM = "telegram"
    DISCORD = "discord"
    MATRIX = "matrix"
    EMAIL = "email"


class BridgeDeliveryStatus(StrEnum):
    """Where a message stands on its way out."""

    PENDING = "pending"
    DELIVERED = "delivered"
    DEAD = "dead"  # given up
    REFUSED = "refused"  # the session's credential scope does not allow the connector


@dataclass(frozen=True, slots=True, kw_only=True)
class Bridge:
    """A way between one channel and one place outside."""

    bridge_id: str
    channel_id: str
    connector: Connector
    created_by: str
    created_at_ms: int
    updated_at_ms: int
    is_enabled: bool = True
    # Where messages go; by default the connector's own address.
    outgoing_url: Annotated[str | None, OMIT] = None
    # Paths that replace those of the connector's preset.
    mapping: Annotated[Mapping[str, Any], OMIT_EMPTY] = field(default_factory=dict)
    # Which actor of the channel a person outside is.
    identities: Mapping[str, str] = field(default_factory=dict)
    # What becomes of who is not listed there.
    unknown_senders: Literal["refuse", "guest"] = "refuse"
    # What the connector needs that is no secret, such as the room.
    settings: Annotated[Mapping[str, str], OMIT_EMPTY] = field(default_factory=dict)
    # The credentials that are stored; what they are is never shown.
    credential_names: tuple[str, ...] = ()
    version: int = 1
    credentials: Annotated[Mapping[str, str], HIDDEN] = field(default_factory=dict)
    # When a mailbox is looked into next.
    due_at_ms: Annotated[int | None, HIDDEN] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewBridge(Bridge):
    """A bridge as it was made, with the secret that signs its webhooks: shown this once."""

    secret: Annotated[str | None, OMIT] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BridgeDelivery:
    """A message on its way out through a bridge."""

    delivery_id: str
    bridge_id: str
    message_id: str
    created_at_ms: int
    status: BridgeDeliveryStatus = BridgeDeliveryStatus.PENDING
    attempts: int = 0
    last_error: Annotated[str | None, OMIT] = None
    due_at_ms: Annotated[int | None, OMIT] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class IncomingMessage:
    """What somebody said outside."""

    external_id: str
    author: str
    text: str
    author_name: str | None = None
    thread: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class IgnoredMessage:
    """What was not taken, and why."""

    external_id: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BridgeReceipt:
    """What became of what came in."""

    message_ids: tuple[str, ...] = ()
    ignored: tuple[IgnoredMessage, ...] = ()


def require_bridge(unit: "Unit", bridge_id: str, channel_id: str | None = None) -> Bridge:
    """A bridge, or `NotFound`; of one channel, if that is given."""
    bridge = unit.bridges.get(bridge_id)
    if bridge is None or channel_id not in (None, bridge.channel_id):
        raise coded_error("channels/bridge_not_found", bridge_id=bridge_id)
    return bridge
