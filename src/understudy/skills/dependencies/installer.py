"""Installs packages for skills without running code of theirs."""

import re
import shutil
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Final

from understudy.redaction.scrub import preview
from understudy.skills.dependencies.environments import SITE_PACKAGES, Environments
from understudy.skills.dependencies.names import Manager, is_name
from understudy.tools.programs import ProgramResult, Programs

MAX_REASON_CHARS: Final = 300
MAX_LINES: Final = 3
# Error markers of pip and npm.
_ERROR: Final = re.compile(r"(?:npm )?(?:error|err!):? *", re.IGNORECASE)
# No builds, no prompts, and no user configuration or environment. A machine-wide pip.conf or npmrc
# still sets the package index. One that does not answer is not asked again and again: people wait.
PIP: Final = (
    *("-I", "-m", "pip", "--isolated", "--no-input", "--disable-pip-version-check", "install"),
    *("--only-binary", ":all:", "--no-cache-dir", "--no-compile", "--quiet", "--no-warn-conflicts"),
    *("--retries", "1", "--timeout", "10"),
)
# A package from a Git repository would be built, which runs its code.
NPM: Final = (
    *("install", "--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier"),
    *("--omit=dev", "--global=false", "--loglevel=error", "--git=no-git"),
    *("--fetch-retries=1", "--fetch-retry-mintimeout=100", "--fetch-timeout=10000"),
)
STOPPED: Final = {
    "timeout": "the time for it is over",
    "stopped": "the daemon is being stopped",
    "not_started": "no program can be started",
    "flood": "it printed too much",
    "memory": "it used too much memory",
    "processes": "it ran too many processes",
}
NO_VENV: Final = "this Python cannot make environments (on Debian: `apt-get install python3-venv`)"
NO_NPM: Final = "there is no npm on this machine (on Debian: `apt-get install npm`)"


class NotInstalled(Exception):
    """An installation failed; the message says why."""


class PackageInstaller:
    """pip and npm, for the environment of one skill at a time.

    The old environment is replaced only when the new one is complete: a failure leaves it as it
    was. pip runs in its own environment, because Python runs the start-up files of packages it can
    see.
    """

    def __init__(
        self,
        environments: Environments,
        programs: Programs,
        *,
        pip_options: Sequence[str] = (),
        npm_options: Sequence[str] = (),
    ) -> None:
        self._environments = environments
        self._programs = programs
        self._pip_options = tuple(pip_options)
        self._npm_options = tuple(npm_options)
        self._ways: Mapping[Manager, Callable[[str, Sequence[str], float, bool], None]] = {
            Manager.PIP: self._pip,
            Manager.NPM: self._npm,
        }

    def alone(self) -> AbstractContextManager[None]:
        """Hold the file lock of installations; `Conflict` when another process has it."""
        return self._environments.alone()

    def install(
        self, slug: str, manager: Manager, names: Sequence[str], *, within_s: float
    ) -> str | None:
        """Install packages into an environment; returns the cause of a failure, or None."""
        return self._try(slug, manager, names, within_s=within_s, keep=True)

    def fetch(self, slug: str, manager: Manager, name: str, *, within_s: float) -> str | None:
        """Fetch a package without installing it; returns the cause of a failure, or None."""
        return self._try(slug, manager, [name], within_s=within_s, keep=False)

    def _try(
        self, slug: str, manager: Manager, names: Sequence[str], *, within_s: float, keep: bool
    ) -> str | None:
        way = self._ways.get(manager)
        if way is None or not all(is_name(manager, name) for name in names):
            return "only packages of pip and npm are installed"
        try:
            way(slug, names, time.monotonic() + within_s, keep)
        except NotInstalled as cause:
            return str(cause)
        except OSError as problem:
            return f"the environment cannot be written: {problem.strerror}"
        return None

    def _pip(self, slug: str, names: Sequence[str], until: float, keep: bool) -> None:
        place = self._environments.folder(slug) / "python"
        site = self._make_venv(place, until, with_pip=False)
        self._make_venv(self._environments.installer, until, with_pip=True)
        python = str(self._environments.installer / "bin" / "python")
        with self._environments.staging() as staging:
            target = staging / "packages"
            options = (*self._pip_options, "--target", str(target))
            self._run((python, *PIP, *options, "--", *names), staging, until)
            if keep:
                _swap(target, site, staging / "old")

    def _make_venv(self, place: Path, until: float, *, with_pip: bool) -> Path:
        """Create a virtual environment; returns the folder of its packages.

        One without that folder is created anew: its installer was killed while it replaced them.
        """
        marker = place / "made"
        site = next(iter(place.glob(SITE_PACKAGES)), None)
        if marker.exists() and site is not None:
            return site
        marker.unlink(missing_ok=True)
        place.parent.mkdir(parents=True, exist_ok=True)
        options = () if with_pip else ("--without-pip",)
        command = (sys.executable, "-I", "-m", "venv", "--clear", *options, str(place))
        with self._environments.staging() as staging:
            self._run(command, staging, until, otherwise=NO_VENV)
        site = next(iter(place.glob(SITE_PACKAGES)), None)
        if site is None:
            raise NotInstalled(NO_VENV)
        marker.touch()
        return site

    def _npm(self, slug: str, names: Sequence[str], until: float, keep: bool) -> None:
        npm = shutil.which("npm", path=self._programs.path)
        if npm is None:
            raise NotInstalled(NO_NPM)
        with self._environments.staging() as staging:
            target = staging / "node"
            target.mkdir()
            options = ("--prefix", str(target), "--cache", str(staging / "cache"))
            # With a tag, npm takes it for a package name and never for a file.
            wanted = [f"{name}@latest" for name in names]
            command = (npm, *NPM, *options, *self._npm_options, "--", *wanted)
            self._run(command, staging, until)
            if keep:
                _swap(target, self._environments.node(slug), staging / "old")

    def _run(
        self, command: Sequence[str], folder: Path, until: float, otherwise: str | None = None
    ) -> None:
        left = until - time.monotonic()
        if left <= 0:
            raise NotInstalled(STOPPED["timeout"])
        ended = self._programs.run(command, folder=folder, timeout_s=left)
        if not ended.is_well:
            raise NotInstalled(otherwise if otherwise and ended.reason == "exit" else _why(ended))


def _swap(new: Path, place: Path, aside: Path) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    if place.exists():
        place.rename(aside)
    new.rename(place)


def _why(ended: ProgramResult) -> str:
    """The error output of the program, with secrets redacted."""
    if ended.reason != "exit":
        return STOPPED.get(ended.reason, ended.reason)
    lines = [line.strip() for line in ended.output.splitlines() if line.strip()]
    errors = [_ERROR.sub("", line) for line in lines if _ERROR.match(line)]
    said = errors[:MAX_LINES] or lines[-1:] or [f"it ended with {ended.code}"]
    return preview("; ".join(said), MAX_REASON_CHARS)
