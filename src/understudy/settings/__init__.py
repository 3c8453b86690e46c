"""The settings of the operator: flags over environment over config file over defaults.

The only package that reads the environment.
"""

from typing import TYPE_CHECKING

from understudy.core.lazy import lazy_names
from understudy.settings.client import (
    DEFAULT_BIND,
    ClientSettings,
    SettingsError,
    client_settings,
    editor_command,
)

if TYPE_CHECKING:
    from understudy.settings.config_file import (
        BackgroundConfig,
        DatabaseConfig,
        DebugLevel,
        FileConfig,
        RouteConfig,
    )
    from understudy.settings.load import load_settings
    from understudy.settings.mcp import McpServerConfig
    from understudy.settings.model import Flags, Settings

# Built on Pydantic, whose import takes longer than most commands do.
__getattr__ = lazy_names(
    __name__,
    {
        "config_file": "BackgroundConfig DatabaseConfig DebugLevel FileConfig RouteConfig",
        "load": "load_settings",
        "mcp": "McpServerConfig",
        "model": "Flags Settings",
    },
)

__all__ = [
    "DEFAULT_BIND",
    "BackgroundConfig",
    "ClientSettings",
    "DatabaseConfig",
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
