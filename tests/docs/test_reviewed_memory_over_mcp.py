"""The page about MCP clients: its commands, its configuration and its program do what it says."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.api.live import Live, live_daemon
from tests.support.command_line_in_process import typed
from tests.support.environment import without_settings
from understudy.mcp.tools import TOOLS

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "reviewed-memory-over-mcp.md"
BIN = Path(sys.executable).parent


def blocks(language: str) -> list[str]:
    found = re.findall(
        rf"^( *)```{language}\n(.*?)^ *```", PAGE.read_text(), re.DOTALL | re.MULTILINE
    )
    return [re.sub(rf"^{indent}", "", text, flags=re.MULTILINE) for indent, text in found]


@pytest.fixture
def live(tmp_path: Path) -> Iterator[Live]:
    with live_daemon(tmp_path / "home") as daemon:
        yield daemon


def test_a_client_proposes_and_finds_what_was_published(live: Live) -> None:
    tokens, review = blocks("sh")
    [program] = blocks("python")
    [configured] = blocks("json")
    server = json.loads(configured)["mcpServers"]["understudy"]
    url = str(live.client.base_url)
    person = {"UNDERSTUDY_URL": url}
    made = []
    for line in tokens.splitlines():
        made.append(json.loads(typed(*line.split()[1:], "--json", env=person).output)["token"])
        person["UNDERSTUDY_TOKEN"] = made[0]
    client = {
        name: {"UNDERSTUDY_URL": url, "UNDERSTUDY_TOKEN": made[-1]}[name] for name in server["env"]
    }

    def printed() -> str:
        path = {"PATH": f"{BIN}:{os.environ['PATH']}"}
        return subprocess.run(
            [sys.executable, "-c", program],
            env={**without_settings(os.environ), **path, **client},
            check=True,
            capture_output=True,
            text=True,
        ).stdout

    assert f"`{printed().strip()}`" in PAGE.read_text()
    for line in review.splitlines():
        done = typed(*line.split()[1:], env=person)
        assert done.exit_code == 0, done.output
    assert "['The staging port is 8443']" in printed()
    assert [server["command"], *server["args"]] == ["understudy", "mcp"]
    assert json.dumps(server["command"])[1:-1] in program


def test_every_tool_is_described() -> None:
    assert [name for name in TOOLS if f"`{name}`" not in PAGE.read_text()] == []
