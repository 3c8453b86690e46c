"""`understudy skills upload` and `export`: skills as folders and archives."""

import sys
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from understudy.cli import inputs, skills_shown
from understudy.cli.arguments import Key
from understudy.cli.connection import connect
from understudy.cli.options import Commands, shared
from understudy.cli.output import ExitCode, client_problem, note, print_json
from understudy.cli.skill_options import (
    Acknowledge,
    OfVersion,
    SkillRef,
    Slug,
    acknowledged,
    answering_for,
)
from understudy.cli.skill_paths import ARCHIVE_SUFFIX, archive_of

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
        daemon.show(lambda: skills_shown.tell_kept(view))


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
