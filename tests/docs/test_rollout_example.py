"""The worked example of a rollout says what the commands print, from the first to the last."""

import re
import runpy
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.api.live import Live
from tests.support.worked_pages import WorkedPage

PAGE = WorkedPage(
    "rollout-worked-example.md",
    re.compile(r"\b(?:run|cand|lrn|trl|ses)_[0-9a-z]{26,32}\b"),
    continued_by=("rollout-demotion-example.md",),
)


@pytest.fixture
def fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Live]:
    monkeypatch.chdir(tmp_path)
    with PAGE.daemon(tmp_path, model_at="http://127.0.0.1:4824") as live:
        live.model.rule = runpy.run_path("demo/model.py")["rule"]
        yield live


def test_every_step_prints_what_the_page_shows(fresh: Live) -> None:
    def before(command: str) -> None:
        # A reader waits for a minute until the daemon looks by itself.
        if command == "understudy candidates list":
            fresh.daemon.services.agents.suggester.look_now()
        # What a run showed is noted right after its end, which a program can be too quick for.
        fresh.daemon.services.outcomes.catch_up()

    assert PAGE.follow(fresh, before=before) > 40
