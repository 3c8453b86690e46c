"""What the environment says to clients: where the daemon is, as whom to call, which editor."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from understudy.settings.address import DEFAULT_BIND, split_bind


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


def editor_command(environment: Mapping[str, str] | None = None) -> str | None:
    """The program in which a person edits texts, if the environment names one."""
    env = os.environ if environment is None else environment
    return env.get("VISUAL") or env.get("EDITOR") or None


# A daemon that listens on every address is reached at this machine's own.
_REACHED_AT: Final = {"0.0.0.0": "127.0.0.1", "[::]": "[::1]"}  # noqa: S104 - not bound here
