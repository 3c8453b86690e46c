"""`understudy publish`: reviewed memory as files of a repository."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from understudy.cli import inputs
from understudy.cli.connection import command, connect
from understudy.cli.options import shared
from understudy.cli.output import ExitCode, note, print_json
from understudy.cli.screen import count, printable

if TYPE_CHECKING:
    from understudy.foreign.publication import RepositoryPublication

REASONS: Final = {
    "missing": "is not there",
    "damaged": "cannot be read, or is half a block",
    "changed": "was changed by hand",
    "added": "was never published",
    "outdated": "is not what is reviewed now",
    "bad_signature": "does not bear its signature",
    "unknown_key": "is signed with a key that this daemon does not know",
    "unsigned": "is not signed, though this daemon has a key",
}


@command()
def publish(
    ctx: typer.Context,
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="The repository.")],
    project: Annotated[
        str | None,
        typer.Option("--project", metavar="ID", help="Whose learnings; else the workspace's."),
    ] = None,
    check: Annotated[
        bool,
        typer.Option(
            "--check", help="Write nothing; name what differs and exit 1. Needs no daemon."
        ),
    ] = False,
) -> None:
    """Write reviewed learnings and granted skills into a repository.

    What was changed by hand in the block comes back as a proposal.
    """
    from understudy.client.address import on_loopback
    from understudy.client.errors import InvalidCall, UnreachableError
    from understudy.wire.doors import PublishFiles

    root = str(directory.expanduser().resolve())
    with connect(ctx) as daemon:
        is_here = on_loopback(daemon.client.url) is not None
        if not is_here and not check:
            raise InvalidCall("the daemon is on another machine; publish where it runs")
        wanted = inputs.request(PublishFiles, directory=root, project_id=project, check=check)
        try:
            made = daemon.client.publications.create(wanted) if is_here else _compared(root)
        except UnreachableError:
            if not check:
                raise
            note("the daemon is away: compared with the lock alone")
            made = _compared(root)
        if check:
            _tell_drift(ctx, made)
        daemon.show(lambda: _tell(made))


def _compared(root: str) -> "RepositoryPublication":
    """What differs from the lock, told without the daemon."""
    from understudy.client.errors import InvalidCall
    from understudy.core.errors import UnderstudyError
    from understudy.foreign.publication import RepositoryPublication
    from understudy.foreign.publication_lock import drift_of
    from understudy.foreign.repository import Repository

    try:
        return RepositoryPublication(directory=root, drift=tuple(drift_of(Repository(root))))
    except UnderstudyError as refused:
        raise InvalidCall(refused.detail) from None


def _tell_drift(ctx: typer.Context, made: "RepositoryPublication") -> None:
    """Name what differs, and end with 1 if anything does."""
    if shared(ctx).json:
        print_json(asdict(made))
    for each in made.drift:
        note(f"{each.path}: {REASONS.get(each.reason, each.reason)}")
    if not made.drift:
        note("everything is as it was published")
    raise typer.Exit(ExitCode.FAILED if made.drift else ExitCode.DONE)


def _tell(made: "RepositoryPublication") -> None:
    learnings, skills = len(made.learning_ids), len(made.skills)
    for path in made.written:
        print(printable(f"wrote {path}"))
    for path in made.removed:
        print(printable(f"removed {path}"))
    what = f"{count(learnings, 'learning')} and {count(skills, 'skill')}"
    note(f"the repository holds {what}" + ("" if made.written else ", as before"))
    if made.candidate_ids:
        note(f"{count(len(made.candidate_ids), 'edit')} of the block waits for review")
    if made.refused_edits:
        note(f"{count(made.refused_edits, 'edit')} could not be proposed: too long, or a secret")
