"""A route is written into a config file, and nothing else in it changes."""

import stat
import tomllib
from pathlib import Path

import pytest

from understudy.settings import SettingsError
from understudy.settings.config_edit import with_route, write_route

ROUTE = {"provider": "openai", "model": "m1", "api_key_env": "OPENAI_API_KEY"}
OLD = """\
# Ours.
bind = "127.0.0.1:4700"  # not the usual port
default_route = "house"

[routes.house]
provider = "openai"
model = "qwen3-8b"
base_url = "http://127.0.0.1:8080/v1"
timeout_s = 30.0

# Servers.
[mcp.servers.weather]
command = "weather"
"""


def test_an_empty_file_gets_the_route_and_the_default() -> None:
    assert tomllib.loads(with_route("", "openai", ROUTE)) == {
        "default_route": "openai",
        "routes": {"openai": ROUTE},
    }


def test_other_settings_and_comments_stay() -> None:
    new = with_route(OLD, "openai", ROUTE)
    old = tomllib.loads(OLD)
    read = tomllib.loads(new)
    assert read == {**old, "default_route": "openai", "routes": {**old["routes"], "openai": ROUTE}}
    assert {"# Ours.", "# Servers."} <= set(new.splitlines())
    assert "# not the usual port" in new


def test_a_route_of_the_same_name_keeps_what_else_was_said_of_it() -> None:
    new = with_route(OLD, "house", {"provider": "openai", "model": "qwen4"})
    house = tomllib.loads(new)["routes"]["house"]
    assert (house["model"], house["timeout_s"]) == ("qwen4", 30.0)
    other = with_route(OLD, "house", {"provider": "anthropic", "model": "c"})
    assert tomllib.loads(other)["routes"]["house"] == {"provider": "anthropic", "model": "c"}


def test_the_same_edit_again_changes_nothing() -> None:
    once = with_route(OLD, "openai", ROUTE)
    assert with_route(once, "openai", ROUTE) == once


@pytest.mark.parametrize(
    "text",
    [
        'routes.openai = {provider = "scripted"}\n',
        'routes = {house = {provider = "scripted"}}\n',
        'workspace = """\n[routes.openai]\n"""\n',
    ],
)
def test_a_file_that_cannot_be_edited_line_by_line_is_refused(text: str) -> None:
    with pytest.raises(SettingsError, match="by hand"):
        with_route(text, "openai", ROUTE)


def test_a_new_file_is_private_and_an_old_one_keeps_its_mode_and_link(tmp_path: Path) -> None:
    path = tmp_path / "home" / "config.toml"
    write_route(path, "openai", ROUTE)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.chmod(0o640)
    link = tmp_path / "link.toml"
    link.symlink_to(path)
    write_route(link, "scripted", {"provider": "scripted"})
    assert link.is_symlink()
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert tomllib.loads(path.read_text())["default_route"] == "scripted"
    assert [each.name for each in path.parent.iterdir()] == ["config.toml"]


def test_a_broken_file_is_told_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text("bind = \n")
    with pytest.raises(SettingsError, match="not valid TOML"):
        write_route(path, "openai", ROUTE)
    assert path.read_text() == "bind = \n"
