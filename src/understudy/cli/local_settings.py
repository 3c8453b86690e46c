"""The settings that count here, or the end of the command with a line that says what is wrong."""

from typing import TYPE_CHECKING

import typer

from understudy.cli.output import ExitCode, note

if TYPE_CHECKING:
    from understudy.settings import ClientSettings, Flags, Settings


def settings_or_exit(flags: "Flags") -> "Settings":
    """What a daemon started here would take; a value that cannot be used is a usage error."""
    from understudy.settings import SettingsError, load_settings

    try:
        return load_settings(flags)
    except SettingsError as problem:
        raise _unusable(problem) from None


def client_settings_or_exit(url: str | None) -> "ClientSettings":
    """Which daemon to talk to: the one at `url`, or the one that the environment names."""
    from understudy.settings import ClientSettings, SettingsError, client_settings

    try:
        found = client_settings()
    except SettingsError as problem:
        if not url:
            raise _unusable(problem) from None
        return ClientSettings(url=url)
    return ClientSettings(url=url or found.url, token=found.token)


def _unusable(problem: Exception) -> typer.Exit:
    note(f"understudy: {problem}")
    return typer.Exit(ExitCode.USAGE)
