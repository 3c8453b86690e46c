"""Which dependencies this machine has, seen without importing or running anything."""

import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib import metadata
from pathlib import Path
from typing import Final

from understudy.skills.dependencies.names import Manager, is_name
from understudy.skills.dependencies.package_names import ALTERNATIVES
from understudy.skills.dependencies.requirements import Requirements


def missing(requirements: Requirements, machine: "LocalMachine") -> tuple[str, ...]:
    """What a skill needs and the machine has not: `pip:x`, `npm:y`, or the name of a program."""
    return tuple(
        one.label for one in requirements.dependencies if not machine.has(one.manager, one.name)
    )


@dataclass(frozen=True, kw_only=True)
class LocalMachine:
    """This machine, with what was installed for a skill beside it.

    Packages are looked up by what their installers wrote down. The files of a skill are never on
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
        """Whether a package or program is there."""
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
        """Modules by the names they are imported by: a package may be called otherwise."""
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


_NODE_FOLDERS: Final = ("lib/node_modules", "share/nodejs", "share/node_modules")
