"""The pages about session state say what the commands print and what the code has."""

import re
from pathlib import Path

import pytest

from tests.support.worked_pages import DOCS, WorkedPage
from understudy.sessions.bindings import MAX_KEY_CHARS, MAX_KEYS
from understudy.skills.active import MAX_ACTIVE, MAX_ALL_BYTES, MAX_BYTES, ActiveSkillState, LeftOut

PAGE = WorkedPage("session-control.md", re.compile(r"\bskl_[0-9a-z]{26,32}\b"))
CONCEPT = (DOCS / "concepts" / "session-state.md").read_text()


def test_every_step_prints_what_the_page_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with PAGE.daemon(tmp_path) as live:
        assert PAGE.follow(live) > 10


def test_states_reasons_and_limits_are_told() -> None:
    table = CONCEPT.partition("|---|")[2]
    rows = re.findall(r"^\| `(\w+)` \| (?:`(\w+)`)? ?\|", table, re.MULTILINE)
    assert {state for state, _ in rows} == {*map(str, ActiveSkillState)}
    assert {reason for _, reason in rows if reason} == {*map(str, LeftOut)}
    for said in (
        f"at most {MAX_BYTES // 1024} KiB, {MAX_ALL_BYTES // 1024} KiB",
        f"At most {MAX_ACTIVE} can be active",
        f"at most {MAX_KEY_CHARS} characters, and a session {MAX_KEYS:,}",
    ):
        assert said in CONCEPT
