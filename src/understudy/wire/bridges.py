"""Request bodies of bridges."""

from typing import Literal

from pydantic import Field

from understudy.channels.bridge_model import Connector
from understudy.wire.base import Id, JsonObject, Lax, ReadOnly, RequestBody, Update


class BridgeFields(RequestBody):
    """The fields of a bridge; an omitted one keeps its value."""

    is_enabled: bool | None = None
    """Whether messages pass."""
    outgoing_url: str | None = Field(default=None, max_length=2_000)
    """The address that messages of the channel are sent to."""
    mapping: JsonObject | None = None
    """Paths in the other system's messages for a webhook bridge."""
    identities: dict[str, str] | None = Field(default=None, max_length=1_000)
    """The user for each sender of the other system."""
    unknown_senders: Literal["refuse", "guest"] | None = None
    """`refuse`, or `guest`: other senders post as guests."""
    settings: dict[str, str] | None = Field(default=None, max_length=32)
    """Settings of the connector."""
    credentials: dict[str, str] | None = Field(default=None, max_length=16)
    """Credentials of the connector by name; stored, and never shown again."""


class CreateBridge(BridgeFields):
    """A new bridge."""

    bridge_id: Id | None = None
    """The id; by default a new one."""
    connector: Lax[Connector] = Connector.WEBHOOK
    """The other system."""


class UpdateBridge(BridgeFields, Update):
    """Changes to a bridge; credentials replace those of the same names."""

    bridge_id: ReadOnly[Id | None] = None
    """Has to be that of the path; it cannot be changed."""
