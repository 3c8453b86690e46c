"""What the operator decided: flags over environment over config file over defaults.

The only package that reads the environment.
"""

from understudy.settings.address import DEFAULT_BIND
from understudy.settings.clients import ClientSettings, client_settings, editor_command
from understudy.settings.config_file import DebugLevel, FileConfig, RouteConfig
from understudy.settings.errors import SettingsError
from understudy.settings.load import load_settings
from understudy.settings.mcp import McpServerConfig
from understudy.settings.model import Flags, Settings

__all__ = [
    "DEFAULT_BIND",
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
