"""`understudy skills upload`, `export`, `versions`, `diff`, `accept`, `restore`, `files`, `usage`."""

import base64
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from understudy.cli import inputs, screen, skill_records
from understudy.cli.connection import Commands, DaemonConnection
from understudy.cli.options import Cursor, Key, Limit, PageOptions
from understudy.cli.output import ExitCode, end_with_problem, note
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
    from understudy.skills.usage import SkillUsage
    from understudy.wire.skills import SkillFile, SkillVersions, SkillVersionView

commands = Commands("Skills as folders and archives.")


@commands("upload", show=skill_records.tell_kept)
def upload(
    daemon: DaemonConnection,
    path: Annotated[
        Path, typer.Argument(metavar="PATH", help="A folder with a SKILL.md, or a ZIP of one.")
    ],
    slug: Slug = None,
    acknowledge: Acknowledge = None,
    key: Key = None,
) -> object:
    """Keep a skill with all its files and print its id; one of yours gets a new version."""
    archive = archive_of(path)
    with answering_for(acknowledge):
        return daemon.client.skills.upload(
            path.resolve().name.removesuffix(ARCHIVE_SUFFIX) + ARCHIVE_SUFFIX,
            archive,
            slug=slug,
            acknowledged=acknowledged(acknowledge),
            key=key,
        )


@commands("export", "download")
def export(
    daemon: DaemonConnection,
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
    to_stdout = str(file) == inputs.STDIN
    if to_stdout and daemon.as_json:
        raise typer.BadParameter("with --json the bytes need a file: stdout holds the skill's JSON")
    data = daemon.client.skills.export(skill, version=version)
    if to_stdout:
        sys.stdout.buffer.write(data)
        return
    view = daemon.client.skills.get(skill)
    target = file or Path(f"{view.slug}{ARCHIVE_SUFFIX}")
    if not inputs.write(target, data, replace=force):
        end_with_problem(
            "file_exists",
            "File exists",
            f"{target} is there already; --force replaces it",
            status=409,
            exit_code=ExitCode.REFUSED,
            as_json=daemon.as_json,
        )
    daemon.show(lambda: note(f"{target}: {len(data)} bytes"))


FromVersion = Annotated[
    int | None,
    typer.Argument(metavar="[FROM]", min=1, help="The one before by default."),
]
ToVersion = Annotated[
    int | None, typer.Argument(metavar="[TO]", min=1, help="The current one by default.")
]


def _show_versions(page: "SkillVersions") -> None:
    layout: screen.Layout = {
        "version": lambda item: (
            f"{item.version} (current)" if item.version == page.current else item.version
        ),
        "state": lambda item: (
            f"{item.state}{', waits for others' if item.waiting_for_others else ''}"
            f"{', untrusted' if item.derived_from_untrusted else ''}"
        ),
        "made": "created_at_ms",
        "by": "actor",
        "run": "run_id",
        "restored from": "restored_from",
        **({"signed by": _signer} if any(item.signature for item in page.items) else {}),
        "bytes": "size",
        "digest": lambda item: item.digest[:12],
    }
    screen.records(page.items, layout, empty="There is no version.")


def _signer(item: "SkillVersionView") -> str | None:
    if item.signature is None:
        return None
    known = "" if item.signature.is_trusted else " (unknown key)"
    return screen.visible(item.signature.signer) + known


@commands("versions", "history", show=_show_versions)
def versions(daemon: DaemonConnection, page: PageOptions, skill: SkillRef) -> object:
    """List the versions of a skill, newest first."""
    return daemon.client.skills.versions_page(skill, **page)


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


@commands("diff", show=_show_diff)
def diff(
    daemon: DaemonConnection, skill: SkillRef, old: FromVersion = None, new: ToVersion = None
) -> object:
    """Print what changed between two versions, as a patch."""
    if old is None or new is None:
        old, new = _compared(daemon, skill, old)
    return daemon.client.skills.diff(skill, old, new)


@commands("restore")
def restore(
    daemon: DaemonConnection,
    skill: SkillRef,
    version: Annotated[
        int, typer.Argument(metavar="VERSION", min=1, help="Which version to bring back.")
    ],
    acknowledge: Acknowledge = None,
    key: Key = None,
) -> None:
    """Bring an earlier version back, as a new one; nothing is lost."""
    with answering_for(acknowledge):
        taken = acknowledged(acknowledge) or None
        view = daemon.client.skills.restore(skill, version, acknowledged=taken, key=key)
    daemon.show_answer(view, skill_records.tell_kept)
    if not daemon.as_json:
        note(f"  it holds what version {version} held")


DraftNumber = Annotated[
    int | None,
    typer.Argument(metavar="[VERSION]", min=1, help="Which draft; the newest one by default."),
]
Reason = Annotated[str, typer.Option("--reason", help="Why, for the audit.")]


def _newest_draft(daemon: DaemonConnection, skill: str) -> int:
    page = daemon.client.skills.versions_page(skill, limit=200)
    found = [it.version for it in page.items if it.state == "draft" or it.waiting_for_others]
    if not found:
        raise typer.BadParameter(
            f"{skill} has no draft; `skills versions {skill}` lists what it has"
        )
    return found[0]


@commands("accept")
def accept(
    daemon: DaemonConnection,
    skill: SkillRef,
    version: DraftNumber = None,
    reason: Reason = "",
    acknowledge: Acknowledge = None,
    key: Key = None,
) -> None:
    """Accept a version that waits: all who may use the skill get it; `skills diff` shows the change."""
    number = version or _newest_draft(daemon, skill)
    with answering_for(acknowledge):
        taken = acknowledged(acknowledge) or None
        view = daemon.client.skills.accept(
            skill, number, reason=reason, acknowledged=taken, key=key
        )
    daemon.show_answer(view, lambda it: note(f"{it.slug} now serves version {it.version}"))


@commands("reject")
def reject(
    daemon: DaemonConnection,
    skill: SkillRef,
    version: DraftNumber = None,
    reason: Reason = "",
    key: Key = None,
) -> None:
    """Reject a version that waits: it is not used, and its text stays in the list of versions."""
    number = version or _newest_draft(daemon, skill)
    view = daemon.client.skills.reject(skill, number, reason=reason, key=key)
    daemon.show_answer(view, lambda it: note(f"version {number} of {it.slug} is rejected"))


@commands("files")
def files(
    daemon: DaemonConnection,
    skill: SkillRef,
    path: Annotated[
        str | None, typer.Argument(metavar="[PATH]", help="Print this file, such as SKILL.md.")
    ] = None,
    version: OfVersion = None,
    limit: Limit = 200,
    cursor: Cursor = None,
) -> None:
    """List the files of a skill, or print one."""
    if path is not None:
        view = daemon.client.skills.read_file(skill, path, version=version)
        daemon.show_answer(view, _print_file)
        return
    page = daemon.client.skills.files_page(skill, version=version, limit=limit, cursor=cursor)
    daemon.show_answer(page, {"bytes": "size", "path": "path"}, "There are no files.")


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


USAGE_COLUMNS: Final[screen.Layout] = {
    "version": lambda item: getattr(item, "version", "all") or None,
    "offered": "offered",
    "used": "used",
    "succeeded": "succeeded",
    "failed": "failed",
    "abandoned": "abandoned",
    "last used": "last_used_at_ms",
}


def _show_usage(view: "SkillUsage") -> None:
    has_sum = len(view.items) > 1 or view.next_cursor
    rows = [*view.items, *((view.total,) if has_sum else ())]
    screen.records(rows, USAGE_COLUMNS, empty="No run knew of it.")


@commands("usage", show=_show_usage)
def usage(
    daemon: DaemonConnection,
    page: PageOptions,
    skill: SkillRef,
    days: Annotated[
        int | None, typer.Option("--days", min=1, max=3650, help="Only the last so many days.")
    ] = None,
) -> object:
    """Tell in how many runs each version was on offer and was used, and how those ended."""
    return daemon.client.skills.usage_page(skill, days=days, **page)
