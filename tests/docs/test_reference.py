"""The generated pages are current, and name everything there is."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.cli_reference import CLIENT, MCP_FIELDS, ROUTE_FIELDS, SETTINGS, WITHOUT_FILE
from understudy import settings
from understudy.settings import DatabaseConfig, FileConfig, Flags, RouteConfig, load_settings
from understudy.settings.mcp import McpServerConfig

ROOT = Path(__file__).parents[2]
POSTGRESQL = "postgresql://understudy@db.example/understudy"
VALUES = {
    "bind": "127.0.0.1:9",
    "database_url": "sqlite:////tmp/x.db",
    "debug_level": "full",
    "log_level": "debug",
    "role": "worker",
    "database.pool_size": "8",
    "database.max_overflow": "8",
    "database.statement_timeout_ms": "1000",
    "database.direct_url": POSTGRESQL,
}


def test_the_reference_pages_are_current() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "reference", "--check"],
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr


def test_every_key_of_the_config_file_is_described() -> None:
    described = {setting.name.partition(".")[0] for setting in SETTINGS if setting.in_file}

    assert described == set(FileConfig.model_fields) - {"routes", "mcp"}
    of_database = {s.name.partition(".")[2] for s in SETTINGS if s.name.startswith("database.")}
    assert of_database == set(DatabaseConfig.model_fields)
    assert set(ROUTE_FIELDS) == set(RouteConfig.model_fields)
    assert set(MCP_FIELDS) == set(McpServerConfig.model_fields)


def test_every_environment_variable_is_described() -> None:
    files = Path(settings.__file__).parent.glob("*.py")
    text = "".join(file.read_text() for file in files)
    read = set(re.findall(r'"((?:UNDERSTUDY|OPENAI|ANTHROPIC)_[A-Z_]+)"', text))

    described = {setting.variable for setting in SETTINGS if setting.variable}
    assert described | set(WITHOUT_FILE) | set(CLIENT) == read


@pytest.mark.parametrize(
    "setting",
    [setting for setting in SETTINGS if setting.variable and setting.name != "admin_token"],
    ids=lambda setting: setting.name,
)
def test_a_setting_is_read_from_its_variable(setting, tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    config.write_text("")
    value = VALUES.get(setting.name, str(config if setting.name == "config" else tmp_path))

    is_shared = setting.name == "role" or setting.name.startswith("database.")
    url = POSTGRESQL if is_shared else None
    loaded = load_settings(Flags(database_url=url), {setting.variable: value})

    assert loaded.sources[setting.name] == "environment"
