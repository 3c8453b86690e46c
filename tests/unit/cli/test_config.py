"""`config show` tells where values came from, and never a secret."""

import json
from pathlib import Path

import pytest

from understudy.settings import Flags, client_settings, load_settings
from understudy.settings.effective import route_rows, setting_rows, without_password


def test_each_setting_names_its_source_and_no_secret(tmp_path: Path) -> None:
    environment = {
        "UNDERSTUDY_DATABASE_URL": "postgresql://ann:hunter2@db/x",
        "UNDERSTUDY_ADMIN_TOKEN": "very-secret",
        "OPENAI_API_KEY": "sk-secret",
    }
    settings = load_settings(Flags(home=tmp_path, bind="127.0.0.1:1"), environment)

    rows = {row["name"]: row for row in setting_rows(settings)}
    shown = json.dumps([*rows.values(), *route_rows(settings)])

    assert rows["home"]["source"] == "flag"
    assert rows["database_url"]["source"] == "environment"
    assert rows["admin_token"] == {
        "name": "admin_token",
        "value": "set",
        "source": "environment",
    }
    assert rows["log_level"]["source"] == "default"
    assert route_rows(settings)[0]["key"] == "from OPENAI_API_KEY"
    assert not any(secret in shown for secret in ("hunter2", "very-secret", "sk-secret"))


def test_every_setting_with_a_source_is_shown(tmp_path: Path) -> None:
    settings = load_settings(Flags(home=tmp_path), {})

    assert {row["name"] for row in setting_rows(settings)} >= set(settings.sources) - {"routes"}


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("sqlite:////home/u/x.db", "sqlite:////home/u/x.db"),
        ("postgresql://u:p%40ss@h:5/d", "postgresql://u:***@h:5/d"),
        ("postgresql://u@h/d", "postgresql://u@h/d"),
        ("postgresql://h/d?user=u&password=p", "postgresql://h/d?user=u&password=***"),
    ],
)
def test_a_password_in_a_url_is_hidden(url: str, shown: str) -> None:
    assert without_password(url) == shown


@pytest.mark.parametrize(
    ("environment", "url"),
    [
        ({}, "http://127.0.0.1:4600"),
        ({"UNDERSTUDY_BIND": "0.0.0.0:9"}, "http://127.0.0.1:9"),
        ({"UNDERSTUDY_BIND": "[::]:9"}, "http://[::1]:9"),
        ({"UNDERSTUDY_BIND": "10.0.0.5:9", "UNDERSTUDY_URL": "https://u.test"}, "https://u.test"),
    ],
)
def test_a_client_finds_the_daemon_of_its_environment(
    environment: dict[str, str], url: str
) -> None:
    assert client_settings(environment).url == url


def test_a_clients_token_is_not_in_its_repr() -> None:
    assert "secret" not in repr(client_settings({"UNDERSTUDY_TOKEN": "secret"}))
