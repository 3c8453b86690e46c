"""What the operator decided: flags over environment over config file over defaults.

The only package that reads the environment.
"""

from understudy.settings.config_file import (
    BackgroundConfig,
    DebugLevel,
    FileConfig,
    RouteConfig,
    SettingsError,
)
from understudy.settings.load import (
    DEFAULT_BIND,
    ClientSettings,
    client_settings,
    editor_command,
    load_settings,
)
from understudy.settings.mcp import McpServerConfig
from understudy.settings.model import Flags, Settings

__all__ = [
    "DEFAULT_BIND",
    "BackgroundConfig",
    "ClientSettings",
    "DebugLevel",
    "FileConfig",
    "Flags",
    "McpServerConfig",
    "RouteConfig",
    "Settings",
    "SettingsError",
    "client_settings",
    "editor_command",
    "load_settings",
]
