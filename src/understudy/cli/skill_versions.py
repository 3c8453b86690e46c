"""`understudy skills versions`, `diff`, `restore` and `files`: what a skill was and is."""

import base64
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from understudy.cli import screen, skills_shown
from understudy.cli.arguments import Cursor, Key, Limit
from understudy.cli.connection import Connection, connect
from understudy.cli.options import Commands
from understudy.cli.output import note
from understudy.cli.skill_options import (
    Acknowledge,
    OfVersion,
    SkillRef,
    acknowledged,
    answering_for,
)

if TYPE_CHECKING:
    from understudy.wire.skills import SkillDiff, SkillFile, SkillFileDiff

commands = Commands("Versions of skills.")

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
            skills_shown.tell_kept(view)
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


def _compared(daemon: Connection, skill: str, old: int | None) -> tuple[int, int]:
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


def _patch(file: "SkillFileDiff") -> str:
    if file.diff is not None:
        return file.diff
    return (
        f"Binary file {file.path} {file.change}: {file.old_size or 0} → {file.new_size or 0} bytes"
    )
