"""Checks which dependencies this machine has, without importing or running anything."""

import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib import metadata
from pathlib import Path
from typing import Final

from understudy.core.text import and_more
from understudy.skills.dependencies.names import Manager, check_dependency, is_name
from understudy.skills.dependencies.python_imports import ALTERNATIVES
from understudy.skills.dependencies.requirements import Requirements

# How many dependencies a sentence lists.
MAX_LISTED: Final = 10
_NODE_FOLDERS: Final = ("lib/node_modules", "share/nodejs", "share/node_modules")


def missing(requirements: Requirements, machine: "LocalMachine") -> tuple[str, ...]:
    """The missing dependencies of a skill: `pip:x`, `npm:y`, or the name of a program."""
    return tuple(
        one.label for one in requirements.dependencies if not machine.has(one.manager, one.name)
    )


@dataclass(frozen=True, kw_only=True)
class LocalMachine:
    """This machine, with the environment of a skill.

    Packages are looked up in the metadata of their installers. The files of a skill are never on
    any path here: a `sitecustomize.py` or a module named like a known one would run or mislead.
    """

    site_folders: tuple[Path, ...] = ()
    node_folders: tuple[Path, ...] = ()
    path: str | None = None
    _checks: Mapping[Manager, Callable[[str], bool]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        checks = {
            Manager.SYSTEM: self._has_program,
            Manager.PIP: self._has_python_package,
            Manager.NPM: self._has_node_package,
        }
        object.__setattr__(self, "_checks", checks)

    def has(self, manager: Manager, name: str) -> bool:
        """Whether a package or program is installed."""
        return is_name(manager, name) and self._checks[manager](name)

    def _has_program(self, name: str) -> bool:
        return shutil.which(name, path=self.path) is not None

    def _has_python_package(self, name: str) -> bool:
        names = (name, *ALTERNATIVES.get(name, ()))
        if any(self._is_distribution(one) for one in names):
            return True
        return name.replace("-", "_") in self._modules

    def _is_distribution(self, name: str) -> bool:
        try:
            metadata.distribution(name)
        except metadata.PackageNotFoundError:
            folders = [str(folder) for folder in self.site_folders]
            return any(True for _ in metadata.distributions(name=name, path=folders))
        return True

    @cached_property
    def _modules(self) -> frozenset[str]:
        """Modules by import name, which may differ from the package name."""
        return frozenset(metadata.packages_distributions())

    def _has_node_package(self, name: str) -> bool:
        folders = (*self.node_folders, *self._global_node_folders)
        return any((folder / name / "package.json").is_file() for folder in folders)

    @cached_property
    def _global_node_folders(self) -> tuple[Path, ...]:
        node = shutil.which("node", path=self.path)
        if node is None:
            return ()
        places = {Path(node).parent.parent, Path(node).resolve().parent.parent}
        return tuple(place / below for place in sorted(places) for below in _NODE_FOLDERS)


# Package managers and their install commands; the first that is installed is suggested.
PACKAGE_MANAGERS: Final[Mapping[str, str]] = {
    "apt-get": "apt-get install {}",
    "dnf": "dnf install {}",
    "apk": "apk add {}",
    "pacman": "pacman -S {}",
    "zypper": "zypper install {}",
    "brew": "brew install {}",
}
# Programs that come in packages of another name, as Debian and most others call them.
PACKAGES: Final[Mapping[str, str]] = {
    "convert": "imagemagick",
    "exiftool": "libimage-exiftool-perl",
    "gs": "ghostscript",
    "magick": "imagemagick",
    "node": "nodejs",
    "pdfimages": "poppler-utils",
    "pdftoppm": "poppler-utils",
    "pdftotext": "poppler-utils",
    "pip3": "python3-pip",
    "rg": "ripgrep",
    "soffice": "libreoffice",
    "tesseract": "tesseract-ocr",
}
INSTALL: Final = "understudy skills deps install"
RESCAN: Final = "understudy skills deps rescan"


def next_step(label: str, *, path: str | None = None) -> str:
    """The command that installs a missing `pip:x`, `npm:y` or program, and who runs it."""
    dependency = check_dependency(label)
    if dependency.manager is not Manager.SYSTEM:
        return f"an admin runs `{INSTALL} {dependency.label}`"
    return f"somebody who administers the machine runs {_by_hand(dependency.name, path)}, then an admin `{RESCAN}`"


def next_steps(labels: Iterable[str]) -> tuple[str, ...]:
    """`next_step` for each of several dependencies, with its label."""
    return tuple(f"{label}: {next_step(label)}" for label in labels)


def missing_sentence(missing: Sequence[str]) -> str:
    """The dependencies that this machine lacks and how to install each; empty when it lacks none."""
    if not missing:
        return ""
    steps = and_more(next_steps(missing[:MAX_LISTED]), len(missing) - MAX_LISTED)
    return f"Missing on this machine: {'; '.join(steps)}."


def _by_hand(program: str, path: str | None) -> str:
    package = PACKAGES.get(program, program)
    for manager, command in PACKAGE_MANAGERS.items():
        if shutil.which(manager, path=path):
            return f"`{command.format(package)}`"
    return f"what installs `{package}` there"
