"""The agent of the OpenTelemetry page runs as it stands, and the page shows what it prints."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.environment import without_settings

pytestmark = [pytest.mark.e2e, pytest.mark.slow]
ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "howto" / "opentelemetry.md"


def test_the_example_prints_what_the_page_shows() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "traced_agent.py")],
        capture_output=True,
        text=True,
        timeout=200,
        env=without_settings(os.environ),
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == PAGE.read_text().partition("```text\n")[2].partition("```")[0]
