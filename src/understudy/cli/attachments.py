"""Files and assets that go along with an input, in the order they were named."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Protocol, TypeAlias

import typer

from understudy.cli import inputs
from understudy.cli.options import typed_order

if TYPE_CHECKING:
    from understudy.client import Client

Attach: TypeAlias = Annotated[
    list[Path] | None,
    typer.Option("--attach", metavar="FILE", help="Send a file along. Repeatable."),
]
Asset: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--asset", metavar="ID", help="Send an uploaded asset along. Repeatable."),
]


class Attachment(Protocol):
    """Something that goes along with an input."""

    def asset_id(self, client: "Client") -> str:
        """The asset that it is, or that it becomes."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownAsset:
    """An asset that was uploaded before."""

    name: str

    def asset_id(self, client: "Client") -> str:
        """Its id."""
        return self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class FileToUpload:
    """A file that was read here."""

    name: str
    data: bytes

    def asset_id(self, client: "Client") -> str:
        """The id of the asset that it becomes."""
        return client.assets.upload(self.name, self.data).asset_id


def read(path: Path) -> FileToUpload:
    """A file to send along, or a usage error."""
    return FileToUpload(name=inputs.name_of(path), data=inputs.read_bytes(path))


def named(
    ctx: typer.Context, attach: Sequence[Path] | None, asset: Sequence[str] | None
) -> list[Attachment]:
    """What `--attach` and `--asset` name, in the order in which they were typed."""
    given: Mapping[str, Iterator[Attachment]] = {
        "attach": (read(path) for path in attach or ()),
        "asset": (KnownAsset(name=name) for name in asset or ()),
    }
    return [next(given[name]) for name in typed_order(ctx) if name in given]


def upload(client: "Client", attachments: Sequence[Attachment]) -> list[str] | None:
    """The ids that an input names; None when nothing goes along."""
    return [each.asset_id(client) for each in attachments] or None
