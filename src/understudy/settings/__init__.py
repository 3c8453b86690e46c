"""The settings of the operator: flags over environment over config file over defaults.

The only package that reads the environment.
"""

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Final

from understudy.settings.client import (
    DEFAULT_BIND,
    ClientFolders,
    ClientSettings,
    SettingsError,
    client_folders,
    client_settings,
    editor_command,
)

if TYPE_CHECKING:
    from understudy.settings.config_file import (
        BackgroundConfig,
        DatabaseConfig,
        DebugLevel,
        FileConfig,
        OtelConfig,
        RouteConfig,
    )
    from understudy.settings.load import load_settings
    from understudy.settings.mcp import McpServerConfig
    from understudy.settings.model import Flags, Settings

_MODULES: Final[Mapping[str, str]] = {
    "BackgroundConfig": "config_file",
    "OtelConfig": "config_file",
    "DatabaseConfig": "config_file",
    "DebugLevel": "config_file",
    "FileConfig": "config_file",
    "Flags": "model",
    "McpServerConfig": "mcp",
    "RouteConfig": "config_file",
    "Settings": "model",
    "load_settings": "load",
}

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """Import at first use what is built on Pydantic, whose import costs more than a command."""
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)


__all__ = [
    "DEFAULT_BIND",
    "BackgroundConfig",
    "ClientFolders",
    "ClientSettings",
    "DatabaseConfig",
    "DebugLevel",
    "FileConfig",
    "Flags",
    "McpServerConfig",
    "OtelConfig",
    "RouteConfig",
    "Settings",
    "SettingsError",
    "client_folders",
    "client_settings",
    "editor_command",
    "load_settings",
]
