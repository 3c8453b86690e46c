"""What a person does about something that a skill needs and the machine has not."""

import shutil
from collections.abc import Iterable, Mapping
from typing import Final

from understudy.skills.dependencies.names import Manager, check_dependency

# Who installs programs on this machine: the first that is there, and how it is asked.
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
    """The command that brings a missing `pip:x`, `npm:y` or program, and who runs it."""
    dependency = check_dependency(label)
    if dependency.manager is not Manager.SYSTEM:
        return f"an admin runs `{INSTALL} {dependency.label}`"
    return f"somebody who administers the machine runs {_by_hand(dependency.name, path)}, then an admin `{RESCAN}`"


def next_steps(labels: Iterable[str]) -> tuple[str, ...]:
    """The same for each of several, with what it is for."""
    return tuple(f"{label}: {next_step(label)}" for label in labels)


def _by_hand(program: str, path: str | None) -> str:
    package = PACKAGES.get(program, program)
    for manager, command in PACKAGE_MANAGERS.items():
        if shutil.which(manager, path=path):
            return f"`{command.format(package)}`"
    return f"what installs `{package}` there"
