"""What this machine has to run the scripts of skills with."""

import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from understudy.redaction.scrub import preview
from understudy.tools.programs import Programs

ANSWER_WITHIN_S: Final = 3.0
MAX_VERSION_CHARS: Final = 100
# In the order they are shown. Nothing here installs system packages: a person does.
NAMES: Final = ("python3", "pip3", "node", "npm", "pkg-helper")
CRITICAL: Final = frozenset({"python3", "pip3"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Runtime:
    """One program, and what it says its version is."""

    name: str
    available: bool
    version: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Runtimes:
    """All of them; `ready` when none of the critical ones is missing."""

    runtimes: tuple[Runtime, ...]
    ready: bool


# Answers what there is now.
FindRuntimes = Callable[[], Runtimes]


def find_runtimes(programs: Programs) -> Runtimes:
    """Look for each program where commands are looked for, and ask it for its version."""
    with tempfile.TemporaryDirectory(prefix="understudy-runtimes-") as folder:
        found = tuple(_look(name, programs, Path(folder)) for name in NAMES)
    there = {runtime.name for runtime in found if runtime.available}
    return Runtimes(runtimes=found, ready=there >= CRITICAL)


def _look(name: str, programs: Programs, folder: Path) -> Runtime:
    place = shutil.which(name, path=programs.path)
    if place is None:
        return Runtime(name=name, available=False)
    ended = programs.run((place, "--version"), folder=folder, timeout_s=ANSWER_WITHIN_S)
    first = ended.output.strip().partition("\n")[0] if ended.is_well else ""
    # A slow one is there all the same; one that fails stands for something that is not.
    is_there = ended.is_well or ended.reason == "timeout"
    return Runtime(name=name, available=is_there, version=preview(first, MAX_VERSION_CHARS))
