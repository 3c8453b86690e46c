"""Help is quick: nothing heavy is imported to print it."""

import subprocess
import sys

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
