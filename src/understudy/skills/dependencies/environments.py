"""The environments of skills: one folder per skill for its packages, isolated from the daemon."""

import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

from understudy.core.errors import coded_error
from understudy.core.records import OMIT_EMPTY
from understudy.redaction.scrub import preview
from understudy.skills.dependencies.availability import LocalMachine
from understudy.skills.slug import check_slug
from understudy.tools.programs import Programs

LOOK_AGAIN_S: Final = 5.0
SITE_PACKAGES: Final = "lib/python*/site-packages"
ANSWER_WITHIN_S: Final = 3.0
MAX_VERSION_CHARS: Final = 100
# In display order. The daemon installs no system packages: a person does.
NAMES: Final = ("python3", "pip3", "node", "npm", "pkg-helper")
CRITICAL: Final = frozenset({"python3", "pip3"})
_LOCK: Final = ".lock"
_INSTALLER: Final = ".installer"
_STAGING: Final = ".staging"


class Environments:
    """Environments in folders below one root, by slug."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._bare = LocalMachine()
        self._seen_at = time.monotonic()

    def machine_for(self, slug: str) -> LocalMachine:
        """This machine with the environment of a skill."""
        own = self.folder(slug)
        if not own.is_dir():
            return self._machine()
        return LocalMachine(
            site_folders=tuple(own.glob(f"python/{SITE_PACKAGES}")),
            node_folders=(self.node(slug) / "node_modules",),
        )

    def _machine(self) -> LocalMachine:
        """The machine for skills without an environment, cached as it lists all modules."""
        if time.monotonic() - self._seen_at > LOOK_AGAIN_S:
            self._bare, self._seen_at = LocalMachine(), time.monotonic()
        return self._bare

    def python(self, slug: str) -> Path | None:
        """The Python interpreter of a skill's environment; None without one."""
        program = self.folder(slug) / "python" / "bin" / "python"
        return program if program.exists() else None

    def node(self, slug: str) -> Path:
        """The folder of a skill's npm packages."""
        return self.folder(slug) / "node"

    def folder(self, slug: str) -> Path:
        """The folder of a skill's environment."""
        return self.root / check_slug(slug)

    @property
    def installer(self) -> Path:
        """The virtual environment of pip itself, which loads no package of a skill."""
        return self.root / _INSTALLER

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Hold the file lock of installations; `Conflict` when another process has it."""
        self.root.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(self.root / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise coded_error("skills/skill_install_running") from None
            yield
        finally:
            os.close(descriptor)

    @contextmanager
    def staging(self) -> Iterator[Path]:
        """A temporary folder beside the environments; only while the lock is held."""
        folder = self.root / _STAGING
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Runtime:
    """A program, and the version that it prints."""

    name: str
    available: bool
    version: Annotated[str, OMIT_EMPTY] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Runtimes:
    """The programs that skills run with; `ready` when no critical one is missing."""

    runtimes: tuple[Runtime, ...]
    ready: bool


# Finds the programs that are available now.
FindRuntimes = Callable[[], Runtimes]


def find_runtimes(programs: Programs) -> Runtimes:
    """Find each program on the path, and run it for its version."""
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
    # A slow program is available; a failing one is a stub for a missing program.
    is_there = ended.is_well or ended.reason == "timeout"
    return Runtime(name=name, available=is_there, version=preview(first, MAX_VERSION_CHARS))
