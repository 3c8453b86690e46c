"""The connections to PostgreSQL: where their settings come from, and what is said about a bad one."""

from pathlib import Path
from typing import Any

import pytest

from understudy.settings import Flags, Settings, SettingsError, load_settings
from understudy.settings.effective import setting_rows

URL = "postgresql://understudy@db.example/understudy"
PASSWORD = "-".join(("a", "hidden", "word"))


def load(home: Path, config: str = "", url: str = URL, **env: str) -> Settings:
    (home / "config.toml").write_text(config)
    variables = {f"UNDERSTUDY_DATABASE_{name.upper()}": value for name, value in env.items()}
    return load_settings(Flags(home=home, database_url=url), variables)


def rows(settings: Settings) -> dict[str, tuple[Any, str]]:
    return {row["name"]: (row["value"], row["source"]) for row in setting_rows(settings)}


def test_without_settings_a_daemon_has_a_pool_of_16_and_16_more(tmp_path: Path) -> None:
    settings = load(tmp_path)

    assert (settings.database.pool_size, settings.database.max_overflow) == (16, 16)
    assert settings.database.statement_timeout_ms == 0
    assert settings.direct_url == URL


def test_the_environment_beats_the_file_for_each_of_them(tmp_path: Path) -> None:
    config = "[database]\npool_size = 6\nmax_overflow = 7\nstatement_timeout_ms = 8000\n"

    settings = load(tmp_path, config, max_overflow="0")

    shown = rows(settings)
    assert shown["database.pool_size"] == (6, "file")
    assert shown["database.max_overflow"] == (0, "environment")
    assert shown["database.statement_timeout_ms"] == (8000, "file")
    assert shown["database.direct_url"] == (None, "default")


def test_the_direct_url_is_spelled_as_others_and_keeps_its_password_to_itself(
    tmp_path: Path,
) -> None:
    settings = load(tmp_path, direct_url=f"postgres://me:{PASSWORD}@db.example/understudy")

    assert settings.direct_url == f"postgresql://me:{PASSWORD}@db.example/understudy"
    assert PASSWORD in settings.secrets
    assert rows(settings)["database.direct_url"] == (
        "postgresql://me:***@db.example/understudy",
        "environment",
    )


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("pool_size", "4", "must be at least 5"),
        ("pool_size", "many", "must be a whole number"),
        ("max_overflow", "-1", "must be at least 0"),
        ("statement_timeout_ms", "1.5", "must be a whole number"),
        ("direct_url", "sqlite:///here.db", "must begin with postgresql://"),
    ],
)
def test_a_bad_value_is_named_with_its_variable(
    tmp_path: Path, name: str, value: str, reason: str
) -> None:
    with pytest.raises(SettingsError) as refused:
        load(tmp_path, **{name: value})

    assert str(refused.value) == f"UNDERSTUDY_DATABASE_{name.upper()}: {reason}"


def test_a_bad_value_of_the_file_is_named_with_its_table(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"database\.pool_size: must be at least 5"):
        load(tmp_path, "[database]\npool_size = 1\n")
    with pytest.raises(SettingsError, match="did you mean pool_size"):
        load(tmp_path, "[database]\npoolsize = 10\n")


def test_a_role_is_for_daemons_that_share_postgresql(tmp_path: Path) -> None:
    worker = load_settings(Flags(home=tmp_path, database_url=URL), {"UNDERSTUDY_ROLE": "worker"})
    assert worker.role == "worker"
    assert load(tmp_path).role == "all"

    with pytest.raises(SettingsError, match=r"role api needs PostgreSQL.* --role all"):
        load_settings(Flags(home=tmp_path, role="api"), {})
    with pytest.raises(SettingsError, match="role must be all, api, worker; got 'boss'"):
        load_settings(Flags(home=tmp_path, role="boss", database_url=URL), {})


def test_on_sqlite_they_are_refused_rather_than_ignored(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"database\.pool_size is for PostgreSQL only"):
        load(tmp_path, "[database]\npool_size = 8\n", url="sqlite:///here.db")
