"""What the environment says to clients; read without Pydantic, which most commands have no use for."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

# A daemon that listens on every address is reached at this machine's own.
_REACHED_AT: Final = {"0.0.0.0": "127.0.0.1", "[::]": "[::1]"}  # noqa: S104 - not bound here
DEFAULT_BIND: Final = "127.0.0.1:4600"


class SettingsError(Exception):
    """The configuration cannot be used; the message names the offending key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientSettings:
    """Where a client finds the daemon, and as whom it calls."""

    url: str
    token: str | None = field(default=None, repr=False)


def client_settings(environment: Mapping[str, str] | None = None) -> ClientSettings:
    """What the environment says to clients; the address of a daemon started in it, by default."""
    env = os.environ if environment is None else environment
    url = env.get("UNDERSTUDY_URL")
    if not url:
        host, port = split_bind(env.get("UNDERSTUDY_BIND") or DEFAULT_BIND)
        url = f"http://{_REACHED_AT.get(host, host)}:{port}"
    return ClientSettings(url=url, token=env.get("UNDERSTUDY_TOKEN") or None)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientFolders:
    """Where a person and their coding agents keep their settings."""

    person: Path
    claude_code: Path
    codex: Path


def client_folders(environment: Mapping[str, str] | None = None) -> ClientFolders:
    """The home of a person, and the folders of Claude Code and Codex."""
    env = os.environ if environment is None else environment
    person = Path(env.get("HOME") or "~").expanduser()
    return ClientFolders(
        person=person,
        claude_code=Path(env.get("CLAUDE_CONFIG_DIR") or person / ".claude"),
        codex=Path(env.get("CODEX_HOME") or person / ".codex"),
    )


def editor_command(environment: Mapping[str, str] | None = None) -> str | None:
    """The program in which a person edits texts, if the environment names one."""
    env = os.environ if environment is None else environment
    return env.get("VISUAL") or env.get("EDITOR") or None


def split_bind(bind: str) -> tuple[str, int]:
    """Host and port of an address such as `127.0.0.1:4600`."""
    host, separator, port = bind.rpartition(":")
    if not separator or not host or not port.isdecimal() or int(port) > 65535:
        raise SettingsError(f"bind must be HOST:PORT, for example {DEFAULT_BIND}; got {bind!r}")
    return host, int(port)
