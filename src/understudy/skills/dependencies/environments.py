"""Where packages for skills are installed: one place per skill, apart from all others and from us."""

import fcntl
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from understudy.core.errors import Conflict
from understudy.skills.dependencies.availability import LocalMachine
from understudy.skills.slug import check_slug

LOOK_AGAIN_S: Final = 5.0
SITE_PACKAGES: Final = "lib/python*/site-packages"
_LOCK: Final = ".lock"
_INSTALLER: Final = ".installer"
_STAGING: Final = ".staging"


class Environments:
    """Folders below one root, by slug; nothing of a skill itself lies in them."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._bare = LocalMachine()
        self._seen_at = time.monotonic()

    def machine_for(self, slug: str) -> LocalMachine:
        """This machine with what was installed for a skill."""
        own = self.folder(slug)
        if not own.is_dir():
            return self._machine()
        return LocalMachine(
            site_folders=tuple(own.glob(f"python/{SITE_PACKAGES}")),
            node_folders=(self.node(slug) / "node_modules",),
        )

    def _machine(self) -> LocalMachine:
        """The machine for skills that have nothing of their own; it lists all modules only once."""
        if time.monotonic() - self._seen_at > LOOK_AGAIN_S:
            self._bare, self._seen_at = LocalMachine(), time.monotonic()
        return self._bare

    def python(self, slug: str) -> Path | None:
        """The Python that sees what was installed for a skill; None when nothing was."""
        program = self.folder(slug) / "python" / "bin" / "python"
        return program if program.exists() else None

    def node(self, slug: str) -> Path:
        """Where packages of npm are installed for a skill."""
        return self.folder(slug) / "node"

    def folder(self, slug: str) -> Path:
        """Where everything for one skill is."""
        return self.root / check_slug(slug)

    @property
    def installer(self) -> Path:
        """A Python of its own for pip: what was installed for skills is never loaded there."""
        return self.root / _INSTALLER

    @contextmanager
    def alone(self) -> Iterator[None]:
        """While nobody else installs below this root; `Conflict` when somebody does."""
        self.root.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(self.root / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise _running() from None
            yield
        finally:
            os.close(descriptor)

    @contextmanager
    def staging(self) -> Iterator[Path]:
        """An empty folder beside the environments that is gone afterwards; only while alone."""
        folder = self.root / _STAGING
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def _running() -> Conflict:
    return Conflict(
        "skill_install_running",
        domain="skills",
        detail="packages for skills are being installed already; try again when that is done",
    )
