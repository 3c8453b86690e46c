"""One daemon per home, and dead daemons told from living ones."""

from pathlib import Path

import pytest

from understudy.daemon.homelock import HomeLock, HomeLocked
from understudy.engine.heartbeat import lock_number


def test_a_home_has_one_daemon_at_a_time(tmp_path: Path) -> None:
    with HomeLock(tmp_path), pytest.raises(HomeLocked), HomeLock(tmp_path):
        pass


def test_a_home_is_free_again_after_its_daemon_has_left(tmp_path: Path) -> None:
    with HomeLock(tmp_path):
        pass
    with HomeLock(tmp_path):
        pass


def test_another_home_is_another_matter(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()

    with HomeLock(tmp_path / "a"), HomeLock(tmp_path / "b"):
        pass


def test_the_number_of_an_executor_is_its_own_and_fits_the_database() -> None:
    numbers = {lock_number(f"executor-{n}") for n in range(1000)}

    assert len(numbers) == 1000
    assert all(-(2**63) <= number < 2**63 for number in numbers)
    assert lock_number("a") == lock_number("a")
