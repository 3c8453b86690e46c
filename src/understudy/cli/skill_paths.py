"""Skills as they lie on this machine: a folder, an archive, one file, or a folder full of skills."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import typer

from understudy.cli.hints import understudy
from understudy.cli.inputs import why
from understudy.skills.bundles.limits import MANIFEST

ARCHIVE_SUFFIX: Final = ".zip"
MANIFEST_SUFFIX: Final = ".md"


def is_archive(path: Path) -> bool:
    """Whether a path names a ZIP."""
    return path.suffix.lower() == ARCHIVE_SUFFIX


def files_at(path: Path) -> Mapping[str, bytes]:
    """The files of what lies at a path; raises what the daemon would say of them."""
    from understudy.skills.bundles.archive import read_archive
    from understudy.skills.bundles.folder import files_in

    if path.is_dir():
        # Whoever typed the path may mean a link; inside the folder none is followed.
        return files_in(path.resolve())
    data = read_bounded(path)
    return read_archive(data) if is_archive(path) else {path.name: data}


def skills_at(path: Path) -> Iterator[Path]:
    """The folders of the skills below a folder, or the path itself where there are none."""
    if not path.is_dir() or (path / MANIFEST).exists():
        yield path
        return
    found = sorted(_skill_folders(path))
    yield from found or [path]


def archive_of(path: Path) -> bytes:
    """What is uploaded for a path: an archive as it is, a folder packed into one."""
    from understudy.core.errors import UnderstudyError
    from understudy.skills.bundles.archive import write_archive
    from understudy.skills.bundles.folder import read_folder

    if not path.exists():
        raise typer.BadParameter(f"{path} does not exist")
    if path.suffix.lower() == MANIFEST_SUFFIX:
        raise typer.BadParameter(
            f"{path} is one file: `{understudy()} skills create` keeps it, and its folder can be uploaded"
        )
    if not path.is_dir():
        return read_bounded(path)
    try:
        folder = path.resolve()
        return write_archive(read_folder(folder), folder=folder.name or "skill")
    except UnderstudyError as problem:
        raise typer.BadParameter(f"{path}: {problem.detail}") from None


def read_bounded(path: Path) -> bytes:
    """The bytes of a file, unless they are more than a skill may have."""
    from understudy.skills.bundles.archive import MAX_ARCHIVE_BYTES

    try:
        with path.open("rb") as source:
            data = source.read(MAX_ARCHIVE_BYTES + 1)
    except OSError as problem:
        raise typer.BadParameter(f"{path} cannot be read: {why(problem)}") from None
    if len(data) > MAX_ARCHIVE_BYTES:
        raise typer.BadParameter(f"{path} is larger than a skill may be: {MAX_ARCHIVE_BYTES} bytes")
    return data


def _skill_folders(top: Path) -> Iterator[Path]:
    for folder, inner, files in os.walk(top):
        if MANIFEST in files:
            inner.clear()  # what lies below belongs to this one
            yield Path(folder)
