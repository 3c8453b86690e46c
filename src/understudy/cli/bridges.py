"""`understudy channels bridges`: connections of a channel to places outside."""

from typing import Annotated, Final, TypeAlias

import typer

from understudy.cli import inputs, screen
from understudy.cli.connection import Commands, DaemonConnection
from understudy.cli.options import Key
from understudy.cli.table import Verb, declare

commands = Commands("Bridges of a channel: webhooks, Slack, Telegram, Discord, Matrix, e-mail.")

ChannelId: TypeAlias = Annotated[str, typer.Argument(metavar="CHANNEL", help="The channel's id.")]
BridgeId: TypeAlias = Annotated[str, typer.Argument(metavar="BRIDGE", help="The bridge's id.")]
JsonFile: TypeAlias = Annotated[
    str | None, typer.Option("--fields", metavar="JSON", help="Fields of the bridge.")
]
# Not `--url`: every command takes that of the daemon.
OutgoingUrl: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--outgoing-url", metavar="URL", help="Where messages go; an empty one takes it away."
    ),
]

RECORD: Final[screen.Layout] = {
    "bridge": "bridge_id",
    "channel": "channel_id",
    "connector": "connector",
    "enabled": lambda view: "yes" if view.is_enabled else "no",
    "sends to": "outgoing_url",
    "receives at": lambda view: f"/v1/bridges/{view.bridge_id}/messages",
    "unknown senders": "unknown_senders",
    "identities": lambda view: [f"{key} is {value}" for key, value in view.identities.items()],
    "credentials": lambda view: ", ".join(view.credential_names),
    "secret": lambda view: getattr(view, "secret", None),
}
COLUMNS: Final[screen.Layout] = {
    "bridge": "bridge_id",
    "connector": "connector",
    "enabled": lambda item: "yes" if item.is_enabled else "no",
    "sends to": "outgoing_url",
}
DELIVERY_COLUMNS: Final[screen.Layout] = {
    "delivery": "delivery_id",
    "message": "message_id",
    "status": "status",
    "tries": "attempts",
    "error": "last_error",
}


@commands("create", show=RECORD)
def create(
    daemon: DaemonConnection,
    channel_id: ChannelId,
    bridge_id: BridgeId,
    connector: Annotated[
        str | None,
        typer.Option(
            help="`webhook` (the default), `slack`, `telegram`, `discord`, `matrix` or `email`."
        ),
    ] = None,
    outgoing_url: OutgoingUrl = None,
    guests: Annotated[bool, typer.Option(help="Let people join whom nobody knows.")] = False,
    fields: JsonFile = None,
    key: Key = None,
) -> object:
    """Make a bridge; a secret that was made for it is printed this once."""
    from understudy.wire.bridges import CreateBridge

    options = {
        "bridge_id": bridge_id,
        "connector": connector,
        "outgoing_url": outgoing_url,
        "unknown_senders": "guest" if guests else None,
    }
    wanted = inputs.request(CreateBridge, **inputs.with_fields(options, fields))
    return daemon.client.channels.create_bridge(channel_id, wanted, key=key)


@commands("update", "set", show=RECORD)
def update(
    daemon: DaemonConnection,
    channel_id: ChannelId,
    bridge_id: BridgeId,
    enabled: Annotated[bool | None, typer.Option(help="Whether anything passes.")] = None,
    outgoing_url: OutgoingUrl = None,
    fields: JsonFile = None,
) -> object:
    """Change a bridge."""
    from understudy.wire.bridges import UpdateBridge

    options = {"is_enabled": enabled, "outgoing_url": outgoing_url}
    changes = inputs.change(UpdateBridge, **inputs.with_fields(options, fields))
    return daemon.client.channels.update_bridge(channel_id, bridge_id, changes)


declare(
    commands,
    Verb(
        names="list",
        call="channels.bridges_page",
        show=COLUMNS,
        empty="This channel has no bridge.",
    ),
    Verb(names="show get", call="channels.get_bridge", show=RECORD),
    Verb(names="delete", call="channels.delete_bridge", show="bridge {bridge_id} is deleted"),
    Verb(
        names="deliveries",
        call="channels.bridge_deliveries_page",
        show=DELIVERY_COLUMNS,
        empty="Nothing went out.",
    ),
)
