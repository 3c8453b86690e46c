"""What is typed, piped in or kept in files, read into values."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import typer

STDIN: Final = "-"


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
        raise typer.BadParameter(f"{file} cannot be read: {problem}") from None


def json_object(text: str | None, option: str) -> dict[str, Any] | None:
    """A JSON object typed as an option's value."""
    if text is None:
        return None
    try:
        value = json.loads(text)
    except ValueError as problem:
        raise typer.BadParameter(f"{option} is not JSON: {problem}") from None
    if not isinstance(value, dict):
        raise typer.BadParameter(f"{option} must be a JSON object")
    return value


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
