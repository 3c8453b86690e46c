"""The worked example says what the commands print, from the first to the last."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from tests.api.live import Live, live_daemon
from tests.support.command_line_in_process import typed
from tests.support.daemon import wait_for

PAGE = (Path(__file__).parents[2] / "docs" / "howto" / "learning-worked-example.md").read_text()
FILES = dict(re.findall(r"^`(\w+\.\w+)`[^\n]*\n\n```\w+\n(.*?)```", PAGE, re.DOTALL | re.MULTILINE))
# A command with what it printed.
STEP = re.compile(r"^\$ (.+)\n((?:(?!\$ |```).*\n)*)", re.MULTILINE)
STEPS = [
    step
    for block in re.findall(r"```console\n(.*?)```", PAGE, re.DOTALL)
    for step in STEP.findall(block)
]
ID = re.compile(r"\b(?:run|cand|lrn)_[0-9a-z]{26,32}\b")
VARIES = (
    (ID, "ID"),
    (re.compile(r"\b\d+[smhd] ago|just now"), "AGO"),
    (re.compile(r"\b\d+\.\d+s?\b|\b\d+%"), "N"),
    (re.compile(r"[ ]+"), " "),
)


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[Live]:
    home = tmp_path / "demo"
    home.mkdir()
    for name, text in FILES.items():
        (home / name).write_text(text)
    # The daemon in this process would print its log among what commands print.
    with capture_logs(), live_daemon(home, config=FILES["config.toml"]) as live:
        yield live


def plain(text: str) -> str:
    """What does not vary from one time to the next."""
    for pattern, word in VARIES:
        text = pattern.sub(word, text)
    return text.strip()


def settled(live: Live) -> bool:
    learning = live.ok("GET", "/v1/status")["learning"]
    return not learning["capture_queue"] and not learning["review_queue"]


def test_every_step_prints_what_the_page_shows(fresh: Live, tmp_path: Path) -> None:
    assert set(FILES) == {"config.toml", "writer.toml", "judge.toml", "learning.json"}
    environment = {"UNDERSTUDY_URL": str(fresh.client.base_url)}
    ids: dict[str, str] = {}

    for command, printed in STEPS:
        wait_for(lambda: settled(fresh), 20, what="what was said to be reviewed")
        name, *words = shlex.split(ID.sub(lambda found: ids[found[0]], command))
        words = [word.replace("demo/", f"{tmp_path}/demo/") for word in words]
        keys = "j\n" if words[0] == "review" else ""
        result = typed(*words, stdin=keys, env=environment)

        assert name == "understudy"
        assert plain(result.output) == plain(printed), command
        ids.update(zip(ID.findall(printed), ID.findall(result.output), strict=True))

    assert len(STEPS) > 15
