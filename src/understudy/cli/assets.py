"""`understudy assets`: files that inputs name by id."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from understudy.cli import inputs, screen
from understudy.cli.connection import Commands, DaemonConnection
from understudy.cli.options import Key
from understudy.cli.output import note
from understudy.cli.table import Verb, declare

if TYPE_CHECKING:
    from understudy.assets.model import Asset
    from understudy.wire.assets import CollectedView

commands = Commands("Assets: files that inputs name by id, kept once per content.")

AssetId = Annotated[str, typer.Argument(metavar="ASSET", help="The asset's id.")]
HOUR_MS = 3600 * 1000
REFERENCES_COLUMNS: Final[screen.Layout] = {"kind": "kind", "id": "ref_id"}


def _show_uploaded(asset: "Asset") -> None:
    print(asset.asset_id)
    note(f"{asset.file_name}, {asset.media_type}, {asset.size} bytes")


@commands("upload", show=_show_uploaded)
def upload(
    daemon: DaemonConnection,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The file; `-` reads stdin.")],
    name: Annotated[str | None, typer.Option("--name", help="What to call it.")] = None,
    media_type: Annotated[
        str | None, typer.Option("--media-type", help="Such as image/png; found out by default.")
    ] = None,
    key: Key = None,
) -> object:
    """Keep a file and print its id; the same content again is the same asset."""
    data = inputs.read_bytes(file)
    return daemon.client.assets.upload(
        name or inputs.name_of(file), data, media_type=media_type, key=key
    )


ASSETS_COLUMNS: Final[screen.Layout] = {
    "asset": "asset_id",
    "type": "media_type",
    "bytes": "size",
    "uploaded": "created_at_ms",
    "name": "file_name",
}


RECORD: Final[screen.Layout] = {
    "asset": "asset_id",
    "name": "file_name",
    "type": "media_type",
    "bytes": "size",
    "sha256": "sha256",
    "uploaded": "created_at_ms",
    "by": "owner_id",
}


@commands("download")
def download(
    daemon: DaemonConnection,
    asset_id: AssetId,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Where to; `-` writes stdout.")],
) -> None:
    """Write the bytes of an asset to a file that is not there yet; only an admin may."""
    to_stdout = str(file) == inputs.STDIN
    if to_stdout and daemon.as_json:
        raise typer.BadParameter("with --json the bytes need a file: stdout holds the asset's JSON")
    data = daemon.client.assets.raw(asset_id)
    if to_stdout:
        sys.stdout.buffer.write(data)
        return
    if daemon.as_json:
        daemon.client.assets.get(asset_id)
    inputs.write_new(file, data)
    daemon.show(lambda: note(f"{file}: {len(data)} bytes"))


def _show_collected(done: "CollectedView") -> None:
    if done.asset_ids:
        screen.table(("asset",), [(name,) for name in done.asset_ids], empty="")
    assets = screen.count(len(done.asset_ids), "asset")
    contents = screen.count(done.blobs, "content")
    verb = "would be removed" if done.dry_run else "removed"
    more = "; there are more, run it again" if done.has_more else ""
    note(f"{assets} and {contents} {verb}{more}")


@commands("gc", show=_show_collected)
def collect(
    daemon: DaemonConnection,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only tell what would be removed.")
    ] = False,
    older_than: Annotated[
        float | None,
        typer.Option(
            "--older-than", metavar="HOURS", min=0, help="Spare what is younger; 24 by default."
        ),
    ] = None,
) -> object:
    """Remove assets that nothing refers to."""
    age = None if older_than is None else int(older_than * HOUR_MS)
    return daemon.client.assets.collect(older_than_ms=age, dry_run=dry_run)


declare(
    commands,
    Verb(
        names="list",
        call="assets.page",
        show=ASSETS_COLUMNS,
        empty="No assets yet. `{understudy} assets upload FILE` makes one.",
    ),
    Verb(names="show get", call="assets.get", show=RECORD),
    Verb(
        names="references",
        call="assets.references_page",
        show=REFERENCES_COLUMNS,
        empty="Nothing refers to it: it can be deleted.",
    ),
    Verb(names="delete", call="assets.delete", show="asset {asset_id} is deleted"),
)
