"""Valid names of packages and programs: they end up on the command line of an installer."""

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from understudy.core.errors import coded_error


class Manager(StrEnum):
    """The package manager of a dependency."""

    SYSTEM = "system"
    PIP = "pip"
    NPM = "npm"


# No flags, URLs, paths, versions or shell characters: each begins with a letter or digit.
SHAPES: Final = {
    Manager.SYSTEM: re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9+._-]{0,62}[A-Za-z0-9+])?"),
    Manager.PIP: re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,98}[A-Za-z0-9])?"),
    Manager.NPM: re.compile(
        r"(?:@[a-z0-9](?:[a-z0-9._-]{0,98}[a-z0-9])?/)?[A-Za-z0-9](?:[A-Za-z0-9._-]{0,98}[A-Za-z0-9])?"
    ),
}
_PREFIXES: Final = {"pip": Manager.PIP, "npm": Manager.NPM, "system": Manager.SYSTEM}


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependency:
    """One package or program, and its manager."""

    manager: Manager
    name: str

    @property
    def label(self) -> str:
        """The written form: `pip:x`, `npm:y`, or the bare name of a program."""
        return self.name if self.manager is Manager.SYSTEM else f"{self.manager}:{self.name}"


def is_name(manager: Manager, name: str) -> bool:
    """Whether an installer can only take this as a package name."""
    return SHAPES[manager].fullmatch(name) is not None and ".." not in name


def dependency_refused(label: str) -> str | None:
    """Why this is no valid dependency; None when it is."""
    manager, name = _split(label)
    if manager is None:
        return "is not from pip, npm or the system"
    return None if is_name(manager, name) else f"is not a name that {manager} packages can have"


def check_dependency(label: str, *, pointer: str = "/dep") -> Dependency:
    """Parse a dependency `pip:x`, `npm:y` or `x`; raises `Invalid`."""
    cause = dependency_refused(label)
    manager, name = _split(label)
    if cause is not None or manager is None:
        raise coded_error(
            "skills/invalid_dependency", pointer=pointer, label=label, cause=cause or "unknown"
        )
    return Dependency(manager=manager, name=name)


def _split(label: str) -> tuple[Manager | None, str]:
    prefix, colon, name = label.partition(":")
    return (_PREFIXES.get(prefix), name) if colon else (Manager.SYSTEM, label)
