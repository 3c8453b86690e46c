"""`understudy keys`: signing keys of exported skills, and trusted keys."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from understudy.cli import inputs, screen
from understudy.cli.connection import Commands, DaemonConnection
from understudy.cli.options import Key
from understudy.cli.output import note, understudy
from understudy.cli.table import Verb, declare

if TYPE_CHECKING:
    from understudy.access.signing_keys import SigningKeyStatus

commands = Commands("Keys: what exported skills are signed with, and whose signatures are trusted.")
COLUMNS: Final[screen.Layout] = {
    "key": "key_id",
    "name": lambda each: screen.visible(each.name),
    "kind": "kind",
    "signs": lambda each: "here" if each.can_sign else "–",
    "by": "created_by",
    "since": "created_at_ms",
}
KeyId = Annotated[str, typer.Argument(metavar="KEY", help="Its id, as `list` shows.")]
Name = Annotated[str, typer.Argument(metavar="NAME", help="Who signs with it.")]


def _tell_created(key: "SigningKeyStatus") -> None:
    print(key.key_id)
    note(f"skills that this daemon exports are signed as {screen.visible(key.name)} from now on")
    note(f"  `{understudy()} keys export {key.key_id}` writes the public key, for others to trust")


@commands("create", show=_tell_created)
def create(daemon: DaemonConnection, name: Name, key: Key = None) -> object:
    """Make a key of the daemon and print its id; the private part never leaves its machine."""
    return daemon.client.keys.create(name, key=key)


@commands("export")
def export(daemon: DaemonConnection, key_id: KeyId) -> None:
    """Print the public key in PEM; the private one cannot be exported."""
    found = daemon.client.keys.get(key_id)
    daemon.show_answer(found, lambda key: print(key.public_key, end=""))


def _tell_trusted(key: "SigningKeyStatus") -> None:
    print(key.key_id)
    note(f"skills with this signature are shown as signed by {screen.visible(key.name)}")


@commands("trust", show=_tell_trusted)
def trust(
    daemon: DaemonConnection,
    name: Name,
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="Their public key in PEM; `-` reads stdin.")
    ],
    key: Key = None,
) -> object:
    """Trust the public key of somebody else; ask them for its id first and compare."""
    return daemon.client.keys.trust(name, inputs.read_file(file), key=key)


declare(
    commands,
    Verb(
        names="list",
        call="keys.page",
        show=COLUMNS,
        empty="No keys, so exports are not signed. `{understudy} keys create NAME` makes one.",
    ),
    Verb(names="remove", call="keys.remove", show="key {key_id} is removed"),
)
