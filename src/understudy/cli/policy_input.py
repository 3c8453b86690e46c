"""Policies as they are typed, piped in or kept in files."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import typer

from understudy.cli import inputs

STDIN = Path(inputs.STDIN)


def one_source(file: Path | None, *, stdin: bool) -> Path | None:
    """Where a document comes from: a file, or stdin; None when neither was named."""
    if stdin and file is not None:
        raise typer.BadParameter("give --file or --stdin, not both")
    return STDIN if stdin else file


def document(source: Path) -> dict[str, Any]:
    """A whole policy; what `show --json` prints can be changed and given back."""
    try:
        return unwrapped(inputs.parse_object(inputs.read_file(source)))
    except inputs.NotAnObject as problem:
        raise typer.BadParameter(f"{inputs.name_of(source)} {problem}") from None


def unwrapped(found: dict[str, Any]) -> dict[str, Any]:
    """The policy in what the API answers, or the policy itself."""
    inner = found.get("policy")
    return inner if isinstance(inner, dict) else found


def changed(policy: dict[str, Any], typed: Sequence[str]) -> dict[str, Any]:
    """A policy with `judge.enabled=true` and the like done to it; the old one stays as it was."""
    copy: dict[str, Any] = json.loads(json.dumps(policy))
    for pair in typed:
        path, value = _pair(pair)
        *parents, name = path.split(".")
        spot = copy
        for parent in parents:
            if not isinstance(spot.get(parent), dict):
                spot[parent] = {}
            spot = spot[parent]
        spot[name] = value
    return copy


def _pair(typed: str) -> tuple[str, Any]:
    path, equals, value = typed.partition("=")
    if not equals or not all(path.split(".")):
        raise typer.BadParameter(f"give KEY=VALUE; got {typed!r}")
    return path, _value(value)


def _value(text: str) -> Any:
    """JSON as such; everything else is a word."""
    try:
        value = json.loads(text)
        json.dumps(value, allow_nan=False)
    except ValueError:
        return text
    return value
