"""The tutorial shows what the commands print, from the first to the last."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.api.live import Live
from tests.support.daemon import wait_for
from tests.support.worked_pages import WorkedPage

PAGE = WorkedPage(
    "first-hour.md", re.compile(r"\b(?:run|cand|lrn|apr)_[0-9a-z]{26,32}\b"), folder="tutorial"
)


@pytest.fixture
def fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Live]:
    monkeypatch.chdir(tmp_path)
    with PAGE.daemon(tmp_path) as live:
        yield live


def test_every_step_prints_what_the_page_shows(fresh: Live) -> None:
    def is_settled() -> bool:
        learning = fresh.ok("GET", "/v1/status")["learning"]
        return not learning["capture_queue"] and not learning["review_queue"]

    def asks() -> bool:
        return bool(fresh.ok("GET", "/v1/approvals")["items"])

    def before(command: str) -> None:
        if command == "understudy approvals list":
            wait_for(asks, 20, what="the tool call to ask for approval")
        wait_for(is_settled, 20, what="capture and review to finish")

    assert PAGE.follow(fresh, before=before) > 10
