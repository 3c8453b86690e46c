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
