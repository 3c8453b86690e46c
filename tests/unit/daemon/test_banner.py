"""What is said at the start."""

from pathlib import Path

import pytest

from understudy.daemon.serve import banner
from understudy.settings import Flags, load_settings


@pytest.mark.parametrize("is_open", [True, False])
def test_it_says_when_everybody_is_admin(tmp_path: Path, is_open: bool) -> None:
    settings = load_settings(Flags(home=tmp_path), environment={})
    text = banner(settings, ("127.0.0.1", 4600), "us", not_ready=None, is_open=is_open)

    assert ("every program on this machine acts as admin" in text) == is_open
    assert ("`us tokens create me --role admin`" in text) == is_open


def test_a_worker_offers_no_console_and_no_commands(tmp_path: Path) -> None:
    url = "postgresql://understudy@db.example/understudy"

    def told(role: str) -> str:
        settings = load_settings(Flags(home=tmp_path, database_url=url, role=role), environment={})
        return banner(settings, ("127.0.0.1", 4600), "us", not_ready=None, is_open=False)

    assert "console" not in told("worker")
    assert "us chat" not in told("worker")
    assert "/readyz" in told("worker")
    assert "  us chat" in told("api")
    assert "worked on by other daemons" in told("api")
    assert "role" not in told("all")


@pytest.mark.parametrize(
    ("program", "offered"),
    [
        ("/opt/us/.venv/bin/understudy", True),
        ("understudy", False),
        ("python -m understudy.cli.main", False),
    ],
)
def test_it_offers_the_path_line_while_the_name_alone_is_not_found(
    tmp_path: Path, program: str, offered: bool
) -> None:
    settings = load_settings(Flags(home=tmp_path), environment={})
    text = banner(settings, ("127.0.0.1", 4600), program, not_ready=None, is_open=False)

    assert ('export PATH="/opt/us/.venv/bin:$PATH"' in text) == offered
