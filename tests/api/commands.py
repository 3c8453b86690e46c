"""Commands against a daemon in this process, whose own words stay out of what they print."""

import json
import os
import subprocess
from typing import Any

from tests.api.live import Live
from tests.support import program
from tests.support.environment import without_settings


def invoke(live: Live, *line: object, exit_code: int = 0) -> subprocess.CompletedProcess[str]:
    """What a command did."""
    done = program.run(
        ["--url", str(live.client.base_url), *map(str, line)],
        {**without_settings(os.environ), "TZ": "UTC"},
    )
    assert done.returncode == exit_code, (line, done.returncode, done.stdout, done.stderr)
    return done


def answer(live: Live, *line: object, exit_code: int = 0) -> Any:
    """The one JSON document that a command printed."""
    return json.loads(invoke(live, *line, "--json", exit_code=exit_code).stdout)
