"""`understudy skills scan`, `deps` and `runtimes`: guard findings and dependencies of skills."""

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from understudy.cli import screen
from understudy.cli.connection import Commands, DaemonConnection
from understudy.cli.inputs import why
from understudy.cli.options import Key, shared
from understudy.cli.output import ExitCode, end_with_problem, note, print_json, understudy
from understudy.cli.skill_records import OfVersion, SkillRef
from understudy.cli.table import Verb, declare
from understudy.skills.bundles.limits import MANIFEST

if TYPE_CHECKING:
    from understudy.guard.rule import Finding
    from understudy.skills.dependencies.environments import Runtimes
    from understudy.skills.dependencies.service import InstalledPackages, Rescan
    from understudy.skills.guard_report import GuardReport

commands = Commands("Look at skills before they are kept.")
ARCHIVE_SUFFIX: Final = ".zip"
MANIFEST_SUFFIX: Final = ".md"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scanned:
    """One skill as the guard sees it; what cannot be read at all is refused too."""

    findings: tuple["Finding", ...] = ()
    # Where it lies within what was named; empty for that itself.
    prefix: str = ""
    files: int = 0
    unreadable: str | None = None
    # What else keeps it from being kept; the guard has nothing to do with that.
    problems: tuple[str, ...] = ()

    @property
    def is_refused(self) -> bool:
        """Whether the daemon would not take it as it is."""
        return bool(self.findings) or self.unreadable is not None

    @property
    def is_cut(self) -> bool:
        """Whether the scan ended because it had found so much."""
        from understudy.guard.scan import is_whole

        return not is_whole(self.findings)


@commands("scan", "check")
def scan(
    ctx: typer.Context,
    path: Annotated[
        Path,
        typer.Argument(
            metavar="PATH", help="A skill's folder, a ZIP, one file, or a folder of skills."
        ),
    ],
) -> None:
    """List what the content guard finds, with file, line, rule and reason; needs no daemon.

    Exits with 4 when something was found, with 3 when there is nothing at the path, and with 2 when
    what is there holds no file that could be read.
    """
    as_json = shared(ctx).json
    if not path.exists():
        end_with_problem(
            "path_not_found",
            "Path not found",
            f"there is nothing at {path}",
            status=404,
            exit_code=ExitCode.NOT_FOUND,
            as_json=as_json,
        )
    scanned = [_scanned(each, path) for each in skills_at(path)]
    if not any(each.files or each.is_refused for each in scanned):
        end_with_problem(
            "nothing_to_scan",
            "Nothing to scan",
            f"there is nothing to scan in {path}: it holds no file",
            status=400,
            exit_code=ExitCode.USAGE,
            as_json=as_json,
        )
    if as_json:
        print_json(_document(scanned))
    else:
        _show(scanned)
    if any(each.is_refused for each in scanned):
        raise typer.Exit(ExitCode.REFUSED)


GUARD_COLUMNS: Final[screen.Layout] = {
    "path": "path",
    "line": "line",
    "rule": "rule_id",
    "reason": "reason",
    "text": lambda each: screen.one_line(each.quote or "", 60),
}


def _show_report(view: "GuardReport") -> None:
    files = screen.count(view.files, "file")
    screen.records(view.findings, GUARD_COLUMNS, empty=f"Nothing found in {files}.")
    for problem in view.problems:
        note(f"its SKILL.md is not valid: {problem}")
    if not view.is_whole:
        note("there are more findings than the scan lists")


@commands("guard", "guard-report", show=_show_report)
def guard_report(daemon: DaemonConnection, skill: SkillRef, version: OfVersion = None) -> object:
    """List what the guard finds in a stored skill: file, line, rule, reason and the line itself."""
    return daemon.client.skills.guard_report(skill, version=version)


def _scanned(path: Path, top: Path) -> Scanned:
    from understudy.core.errors import UnderstudyError
    from understudy.skills.content_guard import scan_skill

    prefix = "" if path == top else f"{path.relative_to(top).as_posix()}/"
    try:
        files = files_at(path)
    except UnderstudyError as problem:
        return Scanned(prefix=prefix, unreadable=problem.detail)
    return Scanned(
        findings=scan_skill(files),
        prefix=prefix,
        files=len(files),
        problems=_problems(files) if path.is_dir() or MANIFEST in files else (),
    )


def _problems(files: Mapping[str, bytes]) -> tuple[str, ...]:
    """What an upload would be told of the files as a skill."""
    from understudy.skills.guard_report import manifest_problems

    return manifest_problems(files)


def _show(scanned: Iterable[Scanned]) -> None:
    skills = list(scanned)
    rows = [
        (each.prefix + found.path, found.line, found.rule_id, found.reason)
        for each in skills
        for found in each.findings
    ]
    files = screen.count(sum(each.files for each in skills), "file")
    if rows or not any(each.is_refused for each in skills):
        screen.table(("path", "line", "rule", "reason"), rows, empty=f"Nothing found in {files}.")
    for each in skills:
        name = each.prefix or "it"
        if each.unreadable is not None:
            note(f"{name} cannot be kept: {each.unreadable}")
        for problem in each.problems:
            note(f"{name} is no skill that could be kept yet: {problem}")
    if any(each.is_cut for each in skills):
        note("there are more findings than the scan lists")
    if rows:
        note(f"{screen.count(len(rows), 'finding')} in {files}: the daemon would refuse this")


def _document(scanned: Iterable[Scanned]) -> dict[str, Any]:
    skills = list(scanned)
    findings = [
        {
            "path": each.prefix + found.path,
            "line": found.line,
            "rule_id": found.rule_id,
            "category": str(found.category),
            "reason": found.reason,
        }
        for each in skills
        for found in each.findings
    ]
    return {
        "verdict": "reject" if any(each.is_refused for each in skills) else "allow",
        "files": sum(each.files for each in skills),
        "rules": sorted({str(found["rule_id"]) for found in findings}),
        "findings": findings,
        "problems": [
            {"path": each.prefix, "detail": detail}
            for each in skills
            for detail in (*((each.unreadable,) if each.unreadable else ()), *each.problems)
        ],
    }


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


deps = Commands("Packages and programs that skills need; for admins.")
commands.app.add_typer(deps.app, name="deps")


def _show_runtimes(view: "Runtimes") -> None:
    columns = {"program": "name", "there": "available", "version": "version"}
    screen.records(view.runtimes, columns, empty="None is known.")
    note("skills can run" if view.ready else "skills that bring programs cannot run here")


def _show_rescan(view: "Rescan") -> None:
    rows = [(item.slug, item.status, item.missing or None) for item in view.results]
    screen.table(("skill", "status", "misses"), rows, empty="There is no skill to look at.")
    note(f"{screen.count(view.updated, 'skill')} changed")


@deps("rescan", show=_show_rescan)
def rescan(daemon: DaemonConnection, key: Key = None) -> object:
    """Look again at what every skill misses; nothing is run for that."""
    return daemon.client.skill_dependencies.rescan(key=key)


@deps("install")
def install(
    daemon: DaemonConnection,
    label: Annotated[
        str | None,
        typer.Argument(metavar="[DEP]", help="One only, such as `pip:requests` or `npm:marked`."),
    ] = None,
    key: Key = None,
) -> None:
    """Install the packages that skills miss, each into an environment of its own skill."""
    if not daemon.as_json:
        screen.aside("installing; this may take some minutes")
    if label is not None:
        _install_one(daemon, label, key)
        return
    view = daemon.client.skill_dependencies.install(key=key)
    daemon.show_answer(view, _show_installed)
    if view.errors:
        raise typer.Exit(ExitCode.FAILED)


def _install_one(daemon: DaemonConnection, label: str, key: str | None) -> None:
    view = daemon.client.skill_dependencies.install_one(label, key=key)
    words = "is installed" if view.ok else f"is not installed: {view.error}"
    daemon.show(lambda: note(f"{label} {words}"))
    if not view.ok:
        raise typer.Exit(ExitCode.FAILED)


def _show_installed(view: "InstalledPackages") -> None:
    rows = [
        (manager, name)
        for manager, names in (("system", view.system), ("pip", view.pip), ("npm", view.npm))
        for name in names
    ]
    if rows:
        screen.table(("by", "installed"), rows, empty="")
    for line in (*((view.message,) if view.message else ()), *view.errors):
        note(line)


declare(
    commands,
    Verb(names="runtimes", call="skill_dependencies.runtimes", show=_show_runtimes),
)
