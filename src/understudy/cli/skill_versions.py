"""`understudy skills upload`, `export`, `versions`, `diff`, `restore`, `files` and `usage`."""

import base64
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from understudy.cli import inputs, screen, skill_records
from understudy.cli.connection import DaemonConnection, connect
from understudy.cli.options import Commands, Cursor, Key, Limit, shared
from understudy.cli.output import ExitCode, client_problem, note, print_json
from understudy.cli.skill_checks import ARCHIVE_SUFFIX, archive_of
from understudy.cli.skill_records import (
    Acknowledge,
    OfVersion,
    SkillRef,
    Slug,
    acknowledged,
    answering_for,
)

if TYPE_CHECKING:
    from understudy.skills.diff import FileDiff, SkillDiff
    from understudy.skills.usage import SkillUsage, UsageFigures
    from understudy.wire.skills import SkillFile

commands = Commands("Skills as folders and archives.")


@commands("upload")
def upload(
    ctx: typer.Context,
    path: Annotated[
        Path, typer.Argument(metavar="PATH", help="A folder with a SKILL.md, or a ZIP of one.")
    ],
    slug: Slug = None,
    acknowledge: Acknowledge = None,
    key: Key = None,
) -> None:
    """Keep a skill with all its files and print its id; one of yours gets a new version."""
    archive = archive_of(path)
    with connect(ctx) as daemon, answering_for(acknowledge):
        view = daemon.client.skills.upload(
            path.resolve().name.removesuffix(ARCHIVE_SUFFIX) + ARCHIVE_SUFFIX,
            archive,
            slug=slug,
            acknowledged=acknowledged(acknowledge),
            key=key,
        )
        daemon.show(lambda: skill_records.tell_kept(view))


@commands("export", "download")
def export(
    ctx: typer.Context,
    skill: SkillRef,
    file: Annotated[
        Path | None,
        typer.Argument(metavar="[FILE]", help="Where to; SLUG.zip by default, `-` is stdout."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="The same as an option.")
    ] = None,
    version: OfVersion = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
) -> None:
    """Write a skill as a ZIP, in the form of the Agent Skills standard.

    A file that is there already is left alone, which ends with 4, unless --force is given.
    """
    if file is not None and output is not None:
        raise typer.BadParameter("give FILE or --output, not both")
    file = file or output
    as_json = shared(ctx).json
    to_stdout = str(file) == inputs.STDIN
    if to_stdout and as_json:
        raise typer.BadParameter("with --json the bytes need a file: stdout holds the skill's JSON")
    with connect(ctx) as daemon:
        data = daemon.client.skills.export(skill, version=version)
        if to_stdout:
            sys.stdout.buffer.write(data)
            return
        view = daemon.client.skills.get(skill)
        target = file or Path(f"{view.slug}{ARCHIVE_SUFFIX}")
        if not inputs.write(target, data, replace=force):
            _refuse(target, as_json=as_json)
        daemon.show(lambda: note(f"{target}: {len(data)} bytes"))


def _refuse(target: Path, *, as_json: bool) -> NoReturn:
    detail = f"{target} is there already; --force replaces it"
    if as_json:
        print_json(client_problem("file_exists", "File exists", detail, status=409))
    note(f"error: {detail}")
    raise typer.Exit(ExitCode.REFUSED)


FromVersion = Annotated[
    int | None,
    typer.Argument(metavar="[FROM]", min=1, help="The one before by default."),
]
ToVersion = Annotated[
    int | None, typer.Argument(metavar="[TO]", min=1, help="The current one by default.")
]


@commands("versions", "history")
def versions(ctx: typer.Context, skill: SkillRef, limit: Limit = 50, cursor: Cursor = None) -> None:
    """List the versions of a skill, newest first."""
    with connect(ctx) as daemon:
        page = daemon.client.skills.versions_page(skill, limit=limit, cursor=cursor)
        rows = [
            (
                f"{item.version} (current)" if item.version == page.current else item.version,
                screen.ago(item.created_at_ms),
                item.actor,
                item.run_id,
                item.restored_from,
                item.size,
                item.digest[:12],
            )
            for item in page.items
        ]
        columns = ("version", "made", "by", "run", "restored from", "bytes", "digest")
        daemon.show(lambda: screen.table(columns, rows, empty="There is no version."))
        daemon.more(page.next_cursor)


@commands("diff")
def diff(
    ctx: typer.Context, skill: SkillRef, old: FromVersion = None, new: ToVersion = None
) -> None:
    """Print what changed between two versions, as a patch."""
    with connect(ctx) as daemon:
        if old is None or new is None:
            old, new = _compared(daemon, skill, old)
        view = daemon.client.skills.diff(skill, old, new)
        daemon.show(lambda: _show_diff(view))


@commands("restore")
def restore(
    ctx: typer.Context,
    skill: SkillRef,
    version: Annotated[
        int, typer.Argument(metavar="VERSION", min=1, help="Which version to bring back.")
    ],
    acknowledge: Acknowledge = None,
    key: Key = None,
) -> None:
    """Bring an earlier version back, as a new one; nothing is lost."""
    with connect(ctx) as daemon, answering_for(acknowledge):
        taken = acknowledged(acknowledge) or None
        view = daemon.client.skills.restore(skill, version, acknowledged=taken, key=key)

        def render() -> None:
            skill_records.tell_kept(view)
            note(f"  it holds what version {version} held")

        daemon.show(render)


@commands("files")
def files(
    ctx: typer.Context,
    skill: SkillRef,
    path: Annotated[
        str | None, typer.Argument(metavar="[PATH]", help="Print this file, such as SKILL.md.")
    ] = None,
    version: OfVersion = None,
    limit: Limit = 200,
    cursor: Cursor = None,
) -> None:
    """List the files of a skill, or print one."""
    with connect(ctx) as daemon:
        if path is not None:
            view = daemon.client.skills.read_file(skill, path, version=version)
            daemon.show(lambda: _print_file(view))
        else:
            page = daemon.client.skills.files_page(
                skill, version=version, limit=limit, cursor=cursor
            )
            rows = [(item.size, item.path) for item in page.items]
            daemon.show(lambda: screen.table(("bytes", "path"), rows, empty="There are no files."))
            daemon.more(page.next_cursor)


def _compared(daemon: DaemonConnection, skill: str, old: int | None) -> tuple[int, int]:
    """What is compared where it was not said: the current version, with the one before it."""
    page = daemon.client.skills.versions_page(skill, limit=2)
    if page.current is None:
        raise typer.BadParameter(f"{skill} is not kept here, so it has no versions")
    before = [each.version for each in page.items if each.version < page.current]
    return old or next(iter(before), page.current), page.current


def _print_file(view: "SkillFile") -> None:
    if view.encoding == "utf-8":
        screen.document(view.content)
    elif sys.stdout.isatty():
        note(f"{view.path}: {view.size} bytes that are no text; pipe them to a file")
    else:
        sys.stdout.buffer.write(base64.b64decode(view.content))


def _show_diff(view: "SkillDiff") -> None:
    if view.from_version == view.to_version:
        note(f"there is nothing before version {view.to_version} to compare it with")
        return
    if not view.files:
        note(f"versions {view.from_version} and {view.to_version} hold the same")
        return
    screen.document("".join(f"{_patch(each)}\n" for each in view.files))
    if any(each.cut for each in view.files):
        note("not everything is shown: there is too much of it")


def _patch(file: "FileDiff") -> str:
    if file.diff is not None:
        return file.diff
    return (
        f"Binary file {file.path} {file.change}: {file.old_size or 0} → {file.new_size or 0} bytes"
    )


@commands("usage")
def usage(
    ctx: typer.Context,
    skill: SkillRef,
    days: Annotated[
        int | None, typer.Option("--days", min=1, max=3650, help="Only the last so many days.")
    ] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> None:
    """Tell in how many runs each version was on offer and was used, and how those ended."""
    with connect(ctx) as daemon:
        view = daemon.client.skills.usage_page(skill, days=days, limit=limit, cursor=cursor)
        daemon.show(lambda: _tell(view))
        daemon.more(view.next_cursor)


def _tell(view: "SkillUsage") -> None:
    rows = [_row(each.version or None, each) for each in view.items]
    if len(view.items) > 1 or view.next_cursor:
        rows.append(_row("all", view.total))
    columns = ("version", "offered", "used", "succeeded", "failed", "abandoned", "last used")
    screen.table(columns, rows, empty="No run knew of it.")


def _row(version: object, figures: "UsageFigures") -> tuple[object, ...]:
    return (
        version,
        figures.offered,
        figures.used,
        figures.succeeded,
        figures.failed,
        figures.abandoned,
        screen.ago(figures.last_used_at_ms),
    )
