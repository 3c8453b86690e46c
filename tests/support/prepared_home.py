"""A home as the first start of a daemon leaves it, copied for the daemons that tests start.

Of a first start, migrating the database and keeping the skills that come with the program take
three times as long as everything else. Tests of the start itself begin with an empty home.
"""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

from tests.support.postgres import run_directory

DATABASE = "understudy.db"
SKILLS = "skills-store"


def fill(home: Path, start_once: Callable[[Path], object]) -> None:
    """Put into an empty home what the first start makes of it. Outside of a test run, as in
    benchmarks, it stays empty."""
    directory = run_directory()
    if directory is None or (home / DATABASE).exists():
        return
    prepared = directory / f"home-{os.getpid()}"
    if not prepared.exists():
        start_once(prepared)
    shutil.copytree(prepared / SKILLS, home / SKILLS)
    shutil.copy(prepared / DATABASE, home / DATABASE)
