"""The page about imports says what the commands print, from the first to the last."""

import re
from functools import partial
from pathlib import Path

import pytest

from tests.support.command_line_in_process import typed
from tests.support.daemon import wait_for
from tests.support.worked_pages import WorkedPage

PAGE = WorkedPage("import-conversations.md", re.compile(r"\bcand_[0-9a-z]{26,32}\b"))
QUEUES = ("capture_queue", "review_queue")


def test_every_step_prints_what_the_page_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with PAGE.daemon(tmp_path) as live:

        def is_settled() -> bool:
            learning = live.ok("GET", "/v1/status")["learning"]
            return not any(learning[name] for name in QUEUES)

        wait = partial(wait_for, is_settled, 20, what="capture and review to finish")
        assert PAGE.follow(live, before=lambda _: wait()) == 3
        env = {"UNDERSTUDY_URL": str(live.client.base_url)}
        assert typed("import", "codex", "old/shop/5f0c3a52.jsonl", env=env).exit_code == 2
        told = typed("import", "claude-code", "old", "--json", env=env)
        assert '"known_turns": 1' in told.stdout
