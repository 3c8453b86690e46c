"""Request bodies of bridges."""

from typing import Literal

from pydantic import Field

from understudy.channels.bridge_model import Connector
from understudy.wire.base import Id, JsonObject, Lax, RequestBody, Update


class BridgeFields(RequestBody):
    """The fields of a bridge; an omitted one keeps its value."""

    is_enabled: bool | None = None
    outgoing_url: str | None = Field(default=None, max_length=2_000)
    mapping: JsonObject | None = None
    identities: dict[str, str] | None = Field(default=None, max_length=1_000)
    unknown_senders: Literal["refuse", "guest"] | None = None
    settings: dict[str, str] | None = Field(default=None, max_length=32)
    # Stored, and never shown again.
    credentials: dict[str, str] | None = Field(default=None, max_length=16)


class CreateBridge(BridgeFields):
    """A new bridge."""

    bridge_id: Id | None = None
    connector: Lax[Connector] = Connector.WEBHOOK


class UpdateBridge(BridgeFields, Update):
    """Changes to a bridge; credentials replace those of the same names."""

    bridge_id: Id | None = None
