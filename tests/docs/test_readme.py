"""The README's loop is what the commands print, line by line of what it shows."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from tests.api.live import Live, live_daemon
from tests.support.command_line_in_process import typed
from tests.support.daemon import wait_for
from tests.support.worked_pages import STEP, VARIES

README = (Path(__file__).parents[2] / "README.md").read_text()
(LOOP, *_) = re.findall(r"```console\n(.*?)```", README, re.DOTALL)
ID = re.compile(r"\blrn_[0-9a-z]{6,32}\b")


@pytest.fixture
def fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Live]:
    monkeypatch.chdir(tmp_path)
    # The daemon in this process would print its log among what commands print.
    with capture_logs(), live_daemon(tmp_path / "demo") as live:
        yield live


def plain(text: str) -> str:
    for pattern, word in ((ID, "ID"), *VARIES):
        text = pattern.sub(word, text)
    return text


def test_the_loop_of_the_readme_prints_what_it_shows(fresh: Live) -> None:
    def is_settled() -> bool:
        learning = fresh.ok("GET", "/v1/status")["learning"]
        return not learning["capture_queue"] and not learning["review_queue"]

    learning, steps = "", STEP.findall(LOOP)
    for command, shown in steps:
        wait_for(is_settled, 20, what="capture and review to finish")
        words = shlex.split(ID.sub(learning, command))
        # The key that the page shows behind the question.
        key = re.search(r"\[\?\] (\w)$", shown, re.MULTILINE)
        done = typed(
            *words[1:],
            stdin=f"{key[1]}\n" if key else None,
            env={"UNDERSTUDY_URL": str(fresh.client.base_url)},
        )
        assert done.exit_code == 0, done.output
        told = plain(done.output)
        for line in plain(
            re.sub(r"\[[\w-]+\].*\[\?\] \w$", "", shown, flags=re.MULTILINE)
        ).splitlines():
            assert line in told, (command, done.output)
        if found := ID.search(done.output):
            # As a person would: the beginning is enough.
            learning = found[0][:16]

    assert len(steps) == 4
    assert fresh.ok("GET", "/v1/learnings", params={"status": "active"})["items"] == []
