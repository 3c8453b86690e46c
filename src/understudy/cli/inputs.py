"""Arguments, options, stdin and files, parsed into values and request bodies."""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Protocol, TypeAlias, TypeVar

import typer

from understudy.cli.options import typed_order

if TYPE_CHECKING:
    from pydantic import BaseModel

    from understudy.client import Client

R = TypeVar("R", bound="BaseModel")
STDIN: Final = "-"


def request(kind: type[R], /, **fields: Any) -> R:
    """A request body with the fields that are not None; raises `ValidationError`."""
    from understudy.client.calls import given

    return kind.model_validate(given(**fields))


def change(kind: type[R], /, **fields: Any) -> R:
    """A request body for a change: at least one field must be given."""
    wanted = request(kind, **fields)
    if not wanted.model_fields_set:
        raise typer.BadParameter("give something to change")
    return wanted


def content_beside(
    text: str | None, file: Path | None, attachments: Sequence[object]
) -> str | None:
    """The text of an input; None where what is attached stands for itself."""
    is_wordless = text is None and file is None and bool(attachments)
    return None if is_wordless else content(text, file)


def content(text: str | None, file: Path | None) -> str:
    """A text from the command line, from stdin when it is `-`, or from a file."""
    if text is not None and file is not None:
        raise typer.BadParameter("give a text or --file, not both")
    if file is not None:
        return read_file(file)
    if text is None:
        raise typer.BadParameter("give a text, `-` for stdin, or --file")
    return sys.stdin.read() if text == STDIN else text


def read_file(file: Path) -> str:
    """The text in a file, or on stdin when its name is `-`."""
    if str(file) == STDIN:
        return sys.stdin.read()
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        raise typer.BadParameter(f"{file} cannot be read: {why(problem)}") from None


def why(problem: Exception) -> str:
    """The reason of a file error, without its path."""
    if isinstance(problem, UnicodeDecodeError):
        return "it is not UTF-8 text"
    return (isinstance(problem, OSError) and problem.strerror) or str(problem)


def read_bytes(file: Path) -> bytes:
    """The bytes of a file, or of stdin for `-`, up to the limit of assets."""
    from understudy.assets.model import MAX_ASSET_BYTES

    try:
        if str(file) == STDIN:
            data = sys.stdin.buffer.read(MAX_ASSET_BYTES + 1)
        else:
            with file.open("rb") as source:
                data = source.read(MAX_ASSET_BYTES + 1)
    except OSError as problem:
        raise typer.BadParameter(f"{file} cannot be read: {why(problem)}") from None
    if len(data) > MAX_ASSET_BYTES:
        raise typer.BadParameter(f"{file} is larger than an asset may be: {MAX_ASSET_BYTES} bytes")
    return data


def write_new(file: Path, data: bytes) -> None:
    """Create a file; refuse to overwrite one."""
    try:
        with file.open("xb") as target:
            target.write(data)
    except OSError as problem:
        raise typer.BadParameter(f"{file} cannot be written: {why(problem)}") from None


def write(file: Path, data: bytes, *, replace: bool) -> bool:
    """Write a file, unless there is one that is not to be replaced."""
    if not replace and file.exists():
        return False
    if not replace:
        write_new(file, data)
        return True
    try:
        file.write_bytes(data)
    except OSError as problem:
        raise typer.BadParameter(f"{file} cannot be written: {why(problem)}") from None
    return True


def name_of(file: Path) -> str:
    """The name of a file without its folder; `stdin` for `-`."""
    return "stdin" if str(file) == STDIN else file.name


def json_object(text: str | None, option: str) -> dict[str, Any] | None:
    """A JSON object typed as an option's value."""
    if text is None:
        return None
    try:
        return parse_object(text)
    except NotAnObject as problem:
        raise typer.BadParameter(f"{option} {problem}") from None


def with_fields(options: Mapping[str, Any], fields: str | None) -> dict[str, Any]:
    """The options that were typed, and the JSON object of `--fields`; none may be in both."""
    from understudy.client.calls import given

    typed = given(**options)
    more = json_object(fields, "--fields") or {}
    if twice := sorted(typed.keys() & more.keys()):
        raise typer.BadParameter(f"--fields has {twice[0]!r}, which an option gives; give one")
    return {**typed, **more}


class NotAnObject(ValueError):
    """The text is not a JSON object; says why."""


def parse_object(text: str) -> dict[str, Any]:
    """A text as a JSON object that can be sent, or `NotAnObject`."""
    try:
        value = json.loads(text, parse_constant=_refuse)
        # JSON can escape lone surrogates, which cannot be sent as UTF-8.
        json.dumps(value, ensure_ascii=False).encode()
    except ValueError as problem:
        raise NotAnObject(f"is not JSON: {problem}") from None
    if not isinstance(value, dict):
        raise NotAnObject("must be a JSON object")
    return value


def _refuse(name: str) -> object:
    raise ValueError(f"there is no {name}")


def json_argument(text: str | None, option: str) -> dict[str, Any] | None:
    """A JSON object typed as an option's value, or kept in a file that `@` names."""
    if text is not None and text.startswith("@"):
        text = read_file(Path(text[1:]))
    return json_object(text, option)


def scope_lists(
    allow: Sequence[str], deny: Sequence[str], kinds: Sequence[str]
) -> dict[str, list[str]]:
    """`--allow skill=beta` becomes `skill_allow: [beta]`."""
    lists: dict[str, list[str]] = {}
    for effect, entries in (("allow", allow), ("deny", deny)):
        for entry in entries:
            kind, separator, name = entry.partition("=")
            if not separator or not name or kind not in kinds:
                raise typer.BadParameter(
                    f"--{effect} takes KIND=NAME, where KIND is {', '.join(kinds)}; got {entry!r}"
                )
            lists.setdefault(f"{kind}_{effect}", []).append(name)
    return lists


def reply_target(text: str) -> tuple[str, str]:
    """`local:inbox` or `https://…` as a plugin and an address."""
    if text.startswith(("http://", "https://")):
        return "http", text
    plugin, separator, address = text.partition(":")
    if not separator or not address:
        raise typer.BadParameter(f"a reply target is PLUGIN:ADDRESS or a URL; got {text!r}")
    return plugin, address


def reply_targets(texts: Sequence[str] | None) -> list[dict[str, str]] | None:
    """The reply targets of a run as a request holds them; None where none was typed."""
    if texts is None:
        return None
    pairs = [reply_target(text) for text in texts]
    return [{"plugin": plugin, "address": address} for plugin, address in pairs]


Attach: TypeAlias = Annotated[
    list[Path] | None,
    typer.Option("--attach", metavar="FILE", help="Send a file along. Repeatable."),
]
Asset: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--asset", metavar="ID", help="Send an uploaded asset along. Repeatable."),
]


class Attachment(Protocol):
    """An attachment of an input."""

    def asset_id(self, client: "Client") -> str:
        """The asset id, after an upload if needed."""
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
    """A local file to upload."""

    name: str
    data: bytes

    def asset_id(self, client: "Client") -> str:
        """Upload the file, and return the asset id."""
        return client.assets.upload(self.name, self.data).asset_id


def read(path: Path) -> FileToUpload:
    """A file to send along, or a usage error."""
    return FileToUpload(name=name_of(path), data=read_bytes(path))


def named(
    ctx: typer.Context, attach: Sequence[Path] | None, asset: Sequence[str] | None
) -> list[Attachment]:
    """The attachments of `--attach` and `--asset`, in the order in which they were typed."""
    given: Mapping[str, Iterator[Attachment]] = {
        "attach": (read(path) for path in attach or ()),
        "asset": (KnownAsset(name=name) for name in asset or ()),
    }
    return [next(given[name]) for name in typed_order(ctx) if name in given]


def upload(client: "Client", attachments: Sequence[Attachment]) -> list[str] | None:
    """The ids that an input names; None when nothing goes along."""
    return [each.asset_id(client) for each in attachments] or None
