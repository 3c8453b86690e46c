"""Commands are quick: nothing heavy is imported for help, or to read and show what a daemon says."""

import subprocess
import sys
from typing import Any

import pytest

from tests.support.tiny_daemon import tiny_daemon
from tests.unit.client.fake_daemon import run_document
from understudy.cli.main import COMMANDS, GROUPS, LazyEntry

HEAVY = (
    "asyncio",
    "dbos",
    "fastapi",
    "httpx2",
    "pydantic",
    "rich.console",
    "sqlalchemy",
    "understudy.settings.model",
    "understudy.wire",
)
RUN_ID = "run_1nfwxnh6yve7sh8mtwbzw14zx8"
PAGE: dict[str, Any] = {"items": [], "next_cursor": None}
RUN = run_document(
    RUN_ID, outputs=[{"output_id": "o1", "run_id": RUN_ID, "text": "hello", "at_ms": 1}]
)
SESSION = {
    "session_id": "s1",
    "agent_id": "default",
    "snapshot": {"status": "active", "queued_runs": 0, "journal_length": 3},
}
ANSWERS: dict[str, Any] = {
    "/v1/status": {
        "status": "ready",
        "ready": True,
        "version": "1",
        "pid": 1,
        "database": "sqlite",
    },
    "/v1/sessions": PAGE,
    "/v1/runs": {"items": [RUN], "next_cursor": None},
    f"/v1/runs/{RUN_ID}": RUN,
    f"/v1/runs/{RUN_ID}/cancel": RUN,
    "/v1/learnings": PAGE,
    "/v1/skills": PAGE,
    "/v1/agents": PAGE,
    "/v1/inbox": {"items": [], "counts": {}, "next_cursor": None},
    "/v1/learning-candidates/next": None,
}
PROBE = f"""
import sys
from typing import Any
from understudy.cli.main import main
sys.argv = ["understudy", *sys.argv[1:]]
try:
    main()
except SystemExit as left:
    code = left.code
loaded = [name for name in {HEAVY!r} if name in sys.modules]
sys.exit(f"loaded {{loaded}}" if loaded or code else 0)
"""


def probe(*arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", PROBE, *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_help_loads_nothing_heavy() -> None:
    assert "sessions" in probe("--help")


def test_the_help_of_a_group_and_of_a_command_load_nothing_heavy() -> None:
    assert "submit" in probe("runs", "--help")
    assert "--wait" in probe("runs", "submit", "--help")


def test_the_version_loads_nothing_heavy() -> None:
    assert probe("--version").strip()


@pytest.mark.parametrize(
    "words",
    [
        "status",
        "sessions list",
        "runs list",
        f"runs show {RUN_ID}",
        "learnings list",
        "skills list",
        "agents list",
    ],
)
def test_reading_what_a_daemon_says_loads_nothing_heavy(words: str) -> None:
    with tiny_daemon(ANSWERS) as (url, asked):
        assert probe(*words.split(), "--url", url).strip()
    assert len(asked) == 1


def test_a_change_without_a_body_of_its_own_loads_nothing_heavy() -> None:
    with tiny_daemon(ANSWERS) as (url, asked):
        probe("runs", "cancel", RUN_ID, "--url", url)
    assert [each.method for each in asked] == ["POST"]


@pytest.mark.parametrize(("name", "entry"), COMMANDS.items(), ids=COMMANDS)
def test_a_command_is_listed_with_the_first_words_of_its_own_help(
    name: str, entry: LazyEntry
) -> None:
    (function,) = entry.parts()

    said = (function.__doc__ or "").strip().split("\n\n")[0]
    assert entry.help == " ".join(said.split())


@pytest.mark.parametrize(("name", "entry"), GROUPS.items(), ids=GROUPS)
def test_a_group_is_listed_with_its_own_help(name: str, entry: LazyEntry) -> None:
    assert entry.help == entry.parts()[0].help
