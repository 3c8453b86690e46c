"""The page about memory in a repository says what the commands print, from the first to the last."""

import re
from functools import partial
from pathlib import Path

import pytest

from tests.support.command_line_in_process import typed
from tests.support.daemon import wait_for
from tests.support.worked_pages import WorkedPage

PAGE = WorkedPage("reviewed-memory-in-git.md", re.compile(r"\b(?:lrn|cand|skl)_[0-9a-z]{26,32}\b"))
STATUS = "/v1/status"
AWAY = {"UNDERSTUDY_URL": "http://127.0.0.1:9"}


def test_every_step_prints_what_the_page_shows_and_the_lock_stands_without_a_daemon(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with PAGE.daemon(tmp_path) as live:
        # The policy has a look at each proposal.
        before = partial(wait_for, lambda: not live.ok("GET", STATUS)["learning"]["review_queue"])
        assert PAGE.follow(live, before=lambda _: before(20)) == 10

    done = typed("publish", "shop", "--check", env=AWAY)
    assert done.exit_code == 0, done.output
    assert "the daemon is away" in done.stderr
    (tmp_path / "shop/.claude/skills/release-notes/SKILL.md").unlink()
    done = typed("publish", "shop", "--check", "--json", env=AWAY)
    assert done.exit_code == 1
    assert '"reason": "missing"' in done.stdout
    assert typed("publish", "shop", env=AWAY).exit_code == 5
    elsewhere = {"UNDERSTUDY_URL": "https://daemon.example"}
    assert typed("publish", "shop", env=elsewhere).exit_code == 2
    assert typed("publish", "shop", "--check", env=elsewhere).exit_code == 1
