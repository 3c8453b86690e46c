"""`understudy skills scan`: what the content guard says of files here, without a daemon."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from understudy.cli import screen
from understudy.cli.options import Commands, shared
from understudy.cli.output import ExitCode, client_problem, note, print_json
from understudy.cli.skill_paths import files_at, skills_at
from understudy.skills.bundles.limits import MANIFEST

if TYPE_CHECKING:
    from understudy.guard.rule import Finding

commands = Commands("Look at skills before they are kept.")


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
        detail = f"there is nothing at {path}"
        problem = client_problem("path_not_found", "Path not found", detail, status=404)
        _end(problem, ExitCode.NOT_FOUND, as_json=as_json)
    scanned = [_scanned(each, path) for each in skills_at(path)]
    if not any(each.files or each.is_refused for each in scanned):
        detail = f"there is nothing to scan in {path}: it holds no file"
        problem = client_problem("nothing_to_scan", "Nothing to scan", detail)
        _end(problem, ExitCode.USAGE, as_json=as_json)
    if as_json:
        print_json(_document(scanned))
    else:
        _show(scanned)
    if any(each.is_refused for each in scanned):
        raise typer.Exit(ExitCode.REFUSED)


def _scanned(path: Path, top: Path) -> Scanned:
    from understudy.core.errors import UnderstudyError
    from understudy.skills.scanning import scan_skill

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
    from understudy.core.errors import Invalid, UnderstudyError
    from understudy.skills.bundles.bundle import Bundle
    from understudy.skills.bundles.manifest import parse

    try:
        parse(Bundle(files).manifest_text)
    except Invalid as problem:
        return tuple(error.detail for error in problem.errors) or (problem.detail,)
    except UnderstudyError as problem:
        return (problem.detail,)
    return ()


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


def _end(problem: dict[str, Any], code: ExitCode, *, as_json: bool) -> NoReturn:
    if as_json:
        print_json(problem)
    note(f"error: {problem['detail']}")
    raise typer.Exit(code)
