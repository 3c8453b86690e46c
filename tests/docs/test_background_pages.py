"""The pages about background tasks say what the code says, and their commands do what they show."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.api.live import Live
from tests.support.daemon import wait_for
from tests.support.worked_pages import WorkedPage
from understudy.background_tasks import model
from understudy.background_tasks.tools import MAX_SHOWN_CHARS
from understudy.settings import BackgroundConfig
from understudy.tools.shell import MAX_FLOOD_BYTES

CONCEPT = (Path(__file__).parents[2] / "docs/concepts/background-tasks.md").read_text()
PAGE = WorkedPage("background-tasks.md", re.compile(r"\b(?:run|apr|bgt)_[0-9a-z]{26,32}\b"))


def test_the_machine_is_drawn_as_it_is() -> None:
    drawn = re.findall(r"```mermaid\n(.*?)\n```", CONCEPT, re.DOTALL)
    assert drawn == [model.BACKGROUND_TASK.mermaid()]


def test_every_reason_and_what_it_means_is_told() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \| (`.+?) \|", CONCEPT, re.MULTILINE))
    ends = {
        str(reason): {str(model.TaskEnd(reason=reason, exit_code=code).status) for code in (0, 1)}
        for reason in model.EndReason
    }
    assert {name: set(re.findall(r"`(\w+)`", told)) for name, told in rows.items()} == ends


def test_limits_are_told() -> None:
    for size in (model.HEAD_CHARS, model.TAIL_CHARS, model.TOLD_CHARS, MAX_SHOWN_CHARS):
        assert f"{size // 1024} KiB" in CONCEPT
    assert f"{MAX_FLOOD_BYTES // 1024**2} MiB" in CONCEPT
    for name, default in BackgroundConfig():
        assert f"| `{name}` | {default} |" in CONCEPT


@pytest.fixture
def fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Live]:
    monkeypatch.chdir(tmp_path)
    with PAGE.daemon(tmp_path) as live:
        yield live


def test_every_step_prints_what_the_page_shows(fresh: Live) -> None:
    def tasks(status: str) -> list[dict[str, object]]:
        path = f"/v1/background-tasks?status={status}"
        return list(fresh.ok("GET", path)["items"])

    def has_printed() -> bool:
        return bool(tasks("in_progress") and tasks("in_progress")[0]["output_chars"])

    def all_ended() -> bool:
        runs = fresh.ok("GET", "/v1/runs")["items"]
        return len(runs) == 2 and all("finished_at_ms" in each for each in runs)

    waits = {
        "approvals list": lambda: fresh.ok("GET", "/v1/approvals")["items"],
        "background list": has_printed,
        "runs list": all_ended,
    }
    stops = 0

    def before(command: str) -> None:
        nonlocal stops
        for words, is_there in waits.items():
            if words in command:
                wait_for(is_there, 60, what=command)
        stops += "background stop" in command
        if stops == 2:
            wait_for(lambda: tasks("cancelled"), 60, what="the task to be stopped")

    assert PAGE.follow(fresh, before=before) == 15
