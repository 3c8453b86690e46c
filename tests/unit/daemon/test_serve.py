"""What a daemon that cannot start says."""

import asyncio
from pathlib import Path
from typing import Any, cast

import pytest

from understudy.core.errors import DatabaseUnavailable, Unavailable
from understudy.daemon.serve import CannotServe, HomeInUse, _home_lock, _start
from understudy.settings import Flags, Settings, load_settings


def settings_in(home: Path, database: Path) -> Settings:
    home.mkdir(exist_ok=True)
    return load_settings(Flags(home=home, database_url=f"sqlite:///{database}"), {})


class Refusing:
    """A daemon that does not start."""

    def __init__(self, problem: Exception) -> None:
        self._problem = problem

    async def start(self) -> None:
        """Say why."""
        raise self._problem


@pytest.mark.parametrize(
    ("problem", "said"),
    [
        (
            Unavailable("skill_storage_unavailable", domain="skills", detail="/h/s is a link"),
            "the skills cannot be used: /h/s is a link",
        ),
        (
            DatabaseUnavailable("database_unavailable", domain="storage", detail="it is full"),
            "the database cannot be used: it is full",
        ),
    ],
)
def test_what_fails_is_named_and_nothing_else(problem: Exception, said: str) -> None:
    with pytest.raises(CannotServe) as told:
        asyncio.run(_start(cast("Any", Refusing(problem))))

    assert str(told.value) == said


def test_a_sqlite_file_has_one_daemon_whatever_its_home(tmp_path: Path) -> None:
    file = tmp_path / "first" / "understudy.db"
    (tmp_path / "link").symlink_to(tmp_path / "first")
    with _home_lock(settings_in(tmp_path / "first", file)):
        again = settings_in(tmp_path / "second", tmp_path / "link" / "understudy.db")
        with pytest.raises(
            HomeInUse, match=r"another daemon uses .*/first/understudy\.db; stop it"
        ):
            _home_lock(again).__enter__()
        # A file beside it is another matter, and what was refused has left no lock behind.
        with _home_lock(settings_in(tmp_path / "second", tmp_path / "first" / "other.db")):
            pass


def test_a_missing_folder_is_left_to_who_opens_the_database(tmp_path: Path) -> None:
    with _home_lock(settings_in(tmp_path / "home", tmp_path / "nowhere" / "understudy.db")):
        pass
