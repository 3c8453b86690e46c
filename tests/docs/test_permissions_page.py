"""What the page about permissions tells to type works as it is written."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.api.commands import invoke
from tests.api.live import Live, live_daemon

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "permissions.md"


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[Live]:
    with live_daemon(tmp_path / "home") as live:
        yield live


def test_the_commands_on_the_page_work_one_after_the_other(fresh: Live) -> None:
    first, ruin, second = re.findall(r"```sh\n(.*?)```", PAGE.read_text(), re.DOTALL)
    lines = [shlex.split(line) for line in (first + second).splitlines()]

    told = {" ".join(line[1:3]): invoke(fresh, *line[1:]).stdout for line in lines}

    refused = invoke(fresh, *shlex.split(ruin)[1:]).stdout
    assert refused.startswith("decision  deny")
    assert "it would erase a disk" in " ".join(refused.split())
    assert {line[0] for line in lines} == {"understudy"}
    assert "command=git status*" in told["sessions permissions"]
    assert told["tools check"].startswith("decision  ask")
    listed = told["tools list"].splitlines()
    (writing,) = [line for line in listed if line.startswith("write_file ")]
    assert "rule 1 of the agent" in writing
