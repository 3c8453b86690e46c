"""Help is quick: nothing heavy is imported to print it."""

import subprocess
import sys

import pytest

from understudy.cli.main import COMMANDS, GROUPS, LazyEntry

HEAVY = ("httpx2", "pydantic", "fastapi", "sqlalchemy", "dbos", "understudy.settings")
PROBE = f"""
import sys
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
