"""The session with an agent that evolves says what the commands print, from the first to the last."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.api.live import Live
from tests.support.worked_pages import WorkedPage

PAGE = WorkedPage("evolving-agents.md", re.compile(r"\b(?:run|off|prp|skl)_[0-9a-z]{26,32}\b"))


@pytest.fixture
def fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Live]:
    monkeypatch.chdir(tmp_path)
    with PAGE.daemon(tmp_path) as live:
        yield live


def test_every_step_prints_what_the_page_shows(fresh: Live) -> None:
    assert PAGE.follow(fresh) > 20
