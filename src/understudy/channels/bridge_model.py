"""The records of a bridge between a channel and one external place."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from understudy.core.errors import coded_error
from understudy.core.principal import Principal, Role
from understudy.core.records import HIDDEN, OMIT, OMIT_EMPTY

if TYPE_CHECKING:
    from understudy.storage.unit import Unit

MAX_BRIDGES: Final = 32
MAX_ATTEMPTS: Final = 8


class Connector(StrEnum):
    """The kind of place that a bridge leads to; credential scopes name it."""

    WEBHOOK = "webhook"
    SLACK = "slack"
    TELEGRAM = "telegram"
    DISCORD = "discord"
    MATRIX = "matrix"
    EMAIL = "email"


class BridgeDeliveryStatus(StrEnum):
    """The status of an outgoing message."""

    PENDING = "pending"
    DELIVERED = "delivered"
    DEAD = "dead"  # given up
    REFUSED = "refused"  # the session's credential scope does not allow the connector


@dataclass(frozen=True, slots=True, kw_only=True)
class Bridge:
    """A bridge between one channel and one external place."""

    bridge_id: str
    channel_id: str
    connector: Connector
    created_by: str
    created_at_ms: int
    updated_at_ms: int
    is_enabled: bool = True
    # The URL for outgoing messages; by default the connector's own.
    outgoing_url: Annotated[str | None, OMIT] = None
    # Paths that replace those of the connector's preset.
    mapping: Annotated[Mapping[str, Any], OMIT_EMPTY] = field(default_factory=dict)
    # The channel actor of each external person.
    identities: Mapping[str, str] = field(default_factory=dict)
    # How senders that are not listed are treated.
    unknown_senders: Literal["refuse", "guest"] = "refuse"
    # Settings of the connector that are no secret, such as the room.
    settings: Annotated[Mapping[str, str], OMIT_EMPTY] = field(default_factory=dict)
    # The names of the stored credentials; their values are never shown.
    credential_names: tuple[str, ...] = ()
    version: int = 1
    credentials: Annotated[Mapping[str, str], HIDDEN] = field(default_factory=dict)
    # When the mailbox is polled next.
    due_at_ms: Annotated[int | None, HIDDEN] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewBridge(Bridge):
    """A new bridge with the secret that signs its webhooks, which is shown this once."""

    secret: Annotated[str | None, OMIT] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BridgeDelivery:
    """An outgoing message of a bridge."""

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
    """An incoming message from outside."""

    external_id: str
    author: str
    text: str
    author_name: str | None = None
    thread: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class IgnoredMessage:
    """An incoming message that was not accepted, and why."""

    external_id: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BridgeReceipt:
    """The result of an incoming request."""

    message_ids: tuple[str, ...] = ()
    ignored: tuple[IgnoredMessage, ...] = ()


def require_bridge(unit: "Unit", bridge_id: str, channel_id: str | None = None) -> Bridge:
    """A bridge, or `NotFound`; of one channel, if that is given."""
    bridge = unit.bridges.get(bridge_id)
    if bridge is None or channel_id not in (None, bridge.channel_id):
        raise coded_error("channels/bridge_not_found", bridge_id=bridge_id)
    return bridge


def require_own_bridge(principal: Principal, bridge: Bridge) -> None:
    """Raise `Rejected` unless the caller made the bridge or is an admin."""
    if bridge.created_by != principal.user_id and not principal.role.includes(Role.ADMIN):
        raise coded_error("channels/bridge_not_yours", bridge_id=bridge.bridge_id)
