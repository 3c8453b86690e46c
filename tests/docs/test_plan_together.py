"""The worked example of planning together runs as it stands, and ends with reviewed evidence."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.environment import without_settings

pytestmark = [pytest.mark.e2e, pytest.mark.slow]
ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "howto" / "plan-together.md"


def test_the_script_prints_what_the_page_shows() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "plan_together.py")],
        capture_output=True,
        text=True,
        timeout=300,
        env=without_settings(os.environ),
        check=False,
    )
    assert done.returncode == 0, done.stderr
    shown = PAGE.read_text().partition("```text\n")[2].partition("```")[0]
    # Who speaks after whom is for the daemon to choose.
    assert sorted(done.stdout.splitlines()) == sorted(shown.splitlines())
