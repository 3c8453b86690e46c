"""Edits of `config.toml` that preserve every other line and comment."""

import json
import os
import re
import tempfile
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from understudy.settings.client import SettingsError
from understudy.settings.config_file import FileConfig, read_config

_HEADER: Final = re.compile(r"\s*\[")
_DEFAULT_ROUTE: Final = re.compile(r"\s*default_route\s*=")


def with_route(text: str, name: str, route: Mapping[str, str]) -> str:
    """The text of a config file with a route added as the default; other settings stay.

    `SettingsError` if the text cannot be edited line by line.
    """
    top, tables = _parted(text.splitlines())
    kept = [line for line in top if not _DEFAULT_ROUTE.match(line)]
    rest = _without_table(tables, f"routes.{name}")
    whole = _merged(text, name, route)
    table = [f"[routes.{name}]", *(f"{key} = {json.dumps(whole[key])}" for key in whole)]
    head = [f"default_route = {json.dumps(name)}", *_without_end(kept)]
    tail = ["", *_without_end(rest)] if rest else []
    new = "\n".join([*head, *tail, "", *table]) + "\n"
    _check(text, new, name, whole)
    return new


def write_route(path: Path, name: str, route: Mapping[str, str]) -> None:
    """Write a route into a config file, or create the file; the replacement is atomic."""
    read_config(path, must_exist=False)
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    new = with_route(text, name, route)
    # A symlink is kept: its target is replaced.
    target = path.resolve()
    try:
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        mode = target.stat().st_mode & 0o777 if target.exists() else 0o600
        descriptor, temporary = tempfile.mkstemp(dir=target.parent, prefix=".config-")
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(new)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).chmod(mode)
        Path(temporary).replace(target)
    except OSError as problem:
        raise SettingsError(f"config file {path} cannot be written: {problem.strerror}") from None


def _merged(text: str, name: str, route: Mapping[str, str]) -> dict[str, Any]:
    """The route merged with its existing settings, if the provider is the same."""
    old = tomllib.loads(text).get("routes", {}).get(name, {})
    return {**old, **route} if old.get("provider") == route["provider"] else dict(route)


def _parted(lines: list[str]) -> tuple[list[str], list[str]]:
    """The lines before the first table, and the rest."""
    first = next((at for at, line in enumerate(lines) if _HEADER.match(line)), len(lines))
    return lines[:first], lines[first:]


def _without_table(lines: list[str], table: str) -> list[str]:
    kept: list[str] = []
    is_inside = False
    for line in lines:
        if _HEADER.match(line):
            is_inside = _name(line) == table
        if not is_inside:
            kept.append(line)
    return kept


def _name(header: str) -> str:
    """The name in a table header, without blanks and quotation marks."""
    return re.sub(r"[\s\"']", "", header.partition("]")[0].lstrip().lstrip("["))


def _without_end(lines: list[str]) -> list[str]:
    """The lines without trailing blank ones."""
    while lines and not lines[-1].strip():
        lines = lines[:-1]
    return lines


def _check(old: str, new: str, name: str, route: Mapping[str, Any]) -> None:
    """Refuse an edit that changes more than the route and the default."""
    wanted: dict[str, Any] = tomllib.loads(old)
    wanted["default_route"] = name
    wanted["routes"] = {**wanted.get("routes", {}), name: dict(route)}
    try:
        is_right = tomllib.loads(new) == wanted
    except tomllib.TOMLDecodeError:
        is_right = False
    if not is_right:
        raise SettingsError(
            f"the config file is written in a way that cannot be edited here; write [routes.{name}]"
            " and default_route into it by hand"
        )
    FileConfig.model_validate(wanted)
