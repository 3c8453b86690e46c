"""`understudy agents files` and `proposals`: what an agent's instructions are made of."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Final, cast

import typer

from understudy.cli import inputs, screen
from understudy.cli.connection import DaemonConnection, connect
from understudy.cli.options import AgentId, Commands, Cursor, Key, Limit, TextFile
from understudy.cli.output import note, print_json, understudy

if TYPE_CHECKING:
    from understudy.evolution.proposals import ProposalState
    from understudy.wire.agents import FileVersionDetail, FileVersionView
    from understudy.wire.proposals import ProposalDetail

commands = Commands("Context files of an agent, with their history.")

FileName = Annotated[str, typer.Argument(metavar="NAME", help="For example SOUL.md.")]
OfUser = Annotated[
    str | None, typer.Option("--user", metavar="USER", help="The copy that this user has.")
]
OfVersion = Annotated[
    int | None,
    typer.Option("--version", min=1, help="An earlier version; what is in force by default."),
]
Diff = Annotated[bool, typer.Option("--diff", help="Show what each version changed.")]


FILES_COLUMNS: Final[screen.Layout] = {
    "file": "name",
    "version": "version",
    "bytes": "size",
    "by": "actor",
    "written": "created_at_ms",
}


@commands("list")
def list_files(ctx: typer.Context, agent_id: AgentId, user: OfUser = None) -> None:
    """List the files in force."""
    with connect(ctx) as daemon:
        files, who = files_of(daemon, user)
        page = files.page(agent_id, *who)
        empty = (
            f"No files yet. `{understudy()} agents files set {agent_id} SOUL.md TEXT` writes one."
        )
        daemon.show_page(page, FILES_COLUMNS, empty=empty)


@commands("show", "get")
def show(
    ctx: typer.Context,
    agent_id: AgentId,
    name: FileName,
    version: OfVersion = None,
    user: OfUser = None,
) -> None:
    """Print a file as it is in force, or as it was in a version."""
    with connect(ctx) as daemon:
        if version is not None:
            show_version(daemon, agent_id, name, user, version)
            return
        files, who = files_of(daemon, user)
        view = files.get(agent_id, *who, name)
        daemon.show(lambda: screen.document(view.content))


@commands("set")
def write(
    ctx: typer.Context,
    agent_id: AgentId,
    name: FileName,
    text: Annotated[
        str | None, typer.Argument(metavar="[TEXT]", help="The content; `-` reads stdin.")
    ] = None,
    file: TextFile = None,
    user: OfUser = None,
) -> None:
    """Write a new version of a file."""
    content = inputs.content(text, file)
    with connect(ctx) as daemon:
        files, who = files_of(daemon, user)
        view = files.set(agent_id, *who, name, content)
        daemon.show(lambda: note(f"{name} of {agent_id} is at version {view.version}"))


@commands("delete")
def delete(ctx: typer.Context, agent_id: AgentId, name: FileName, user: OfUser = None) -> None:
    """Take a file out of force; its history stays."""
    with connect(ctx) as daemon:
        files, who = files_of(daemon, user)
        files.delete(agent_id, *who, name)
        daemon.show(lambda: note(f"{name} of {agent_id} is out of force"))


@commands("history")
def history(
    ctx: typer.Context,
    agent_id: AgentId,
    name: FileName,
    diff: Diff = False,
    user: OfUser = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> None:
    """List the versions of a file, newest first."""
    with connect(ctx) as daemon:
        list_versions(daemon, agent_id, name, user, limit=limit, cursor=cursor, diff=diff)


@commands("restore")
def restore(
    ctx: typer.Context,
    agent_id: AgentId,
    name: FileName,
    version: Annotated[int, typer.Argument(metavar="VERSION", help="Which version to bring back.")],
    user: OfUser = None,
) -> None:
    """Bring an earlier version back as a new one."""
    with connect(ctx) as daemon:
        restore_version(daemon, agent_id, name, user, version)


def files_of(daemon: DaemonConnection, user: str | None) -> tuple[Any, tuple[str, ...]]:
    """The calls for an agent's own files, or those for a user's copies and whose these are."""
    agents = daemon.client.agents
    return (agents.files, ()) if user is None else (agents.user_files, (user,))


def list_versions(
    daemon: DaemonConnection,
    agent_id: str,
    name: str,
    user: str | None,
    *,
    limit: int,
    cursor: str | None,
    diff: bool = False,
) -> None:
    """Show the versions of a file, newest first; or what each of them changed."""
    files, who = files_of(daemon, user)
    page = files.versions_page(agent_id, *who, name, limit=limit, cursor=cursor)
    if diff:
        versions = [item.version for item in page.items]
        _tell_changes(daemon, files, (agent_id, *who, name), versions, page.next_cursor)
    else:
        columns = ("version", "bytes", "by", "run", "written")
        rows = [_row(item) for item in page.items]
        daemon.show(lambda: screen.table(columns, rows, empty="This file was never written."))
    daemon.more(page.next_cursor)


def show_version(
    daemon: DaemonConnection, agent_id: str, name: str, user: str | None, version: int
) -> None:
    """Print a file as it was."""
    files, who = files_of(daemon, user)
    view = files.version(agent_id, *who, name, version)

    def render() -> None:
        if view.deleted:
            note(f"{name} was deleted in version {version}")
        else:
            screen.document(view.content)

    daemon.show(render)


def restore_version(
    daemon: DaemonConnection, agent_id: str, name: str, user: str | None, version: int
) -> None:
    """Bring an earlier version of a file back."""
    files, who = files_of(daemon, user)
    view = files.restore(agent_id, *who, name, version)
    daemon.show(lambda: note(f"{name} of {agent_id} is at version {view.version}"))


def _tell_changes(
    daemon: DaemonConnection,
    files: Any,
    file: tuple[str, ...],
    versions: Sequence[int],
    next_cursor: str | None,
) -> None:
    """What each version changed; with --json one document with all of them."""
    answers: list[Any] = []
    for version in versions:
        view = files.version(*file, version)
        answers.append(daemon.answer)
        if not daemon.as_json:
            _tell_change(view)
    if daemon.as_json:
        print_json({"items": answers, "next_cursor": next_cursor})
    elif not versions:
        print("This file was never written.")


def _tell_change(view: "FileVersionDetail") -> None:
    size = "deleted" if view.deleted else f"{view.size} bytes"
    when = screen.ago(view.created_at_ms)
    told = (f"version {view.version}", size, f"by {view.actor}", view.run_id, when)
    print(", ".join(part for part in told if part))
    print(screen.visible(view.diff) or "[no line differs]")
    print()


def _row(item: "FileVersionView") -> tuple[object, ...]:
    size = "deleted" if item.deleted else item.size
    return item.version, size, item.actor, item.run_id, screen.ago(item.created_at_ms)


proposals = Commands("Changes to SOUL.md that wait for a decision (`soul_review` is on).")

ProposalId = Annotated[str, typer.Argument(metavar="PROPOSAL", help="The proposal's id.")]
State = Annotated[
    str | None,
    typer.Option("--state", help="Only pending, approved, rejected or superseded ones."),
]


PROPOSALS_COLUMNS: Final[screen.Layout] = {
    "proposal": "proposal_id",
    "file": "name",
    "state": "state",
    "for": "actor",
    "run": "run_id",
    "made": "created_at_ms",
}


@proposals("list")
def list_proposals(
    ctx: typer.Context,
    agent_id: AgentId,
    state: State = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> None:
    """List proposals, newest first."""
    with connect(ctx) as daemon:
        page = daemon.client.agents.proposals.page(
            agent_id, state=cast("ProposalState | None", state), limit=limit, cursor=cursor
        )
        daemon.show_page(page, PROPOSALS_COLUMNS, empty="Nothing was proposed.")


@proposals("show", "get")
def show_proposal(ctx: typer.Context, agent_id: AgentId, proposal_id: ProposalId) -> None:
    """Show what a proposal would change."""
    with connect(ctx) as daemon:
        view = daemon.client.agents.proposals.get(agent_id, proposal_id)
        daemon.show(lambda: _show(view))


@proposals("approve")
def approve(
    ctx: typer.Context, agent_id: AgentId, proposal_id: ProposalId, key: Key = None
) -> None:
    """Put a proposal in force as a new version."""
    with connect(ctx) as daemon:
        view = daemon.client.agents.proposals.approve(agent_id, proposal_id, key=key)
        daemon.show(lambda: note(f"{view.name} of {agent_id} is at version {view.file_version}"))


@proposals("reject")
def reject(
    ctx: typer.Context,
    agent_id: AgentId,
    proposal_id: ProposalId,
    reason: Annotated[str | None, typer.Option(help="Why it is not wanted.")] = None,
    key: Key = None,
) -> None:
    """Say no to a proposal; the file stays as it is."""
    with connect(ctx) as daemon:
        view = daemon.client.agents.proposals.reject(agent_id, proposal_id, reason, key=key)
        daemon.show(lambda: note(f"{view.proposal_id} is rejected; {view.name} stays as it is"))


def _show(view: "ProposalDetail") -> None:
    screen.fields(
        [
            ("proposal", view.proposal_id),
            ("file", view.name),
            ("state", f"{view.state}, outdated" if view.outdated else view.state),
            ("made from", f"version {view.base_version}" if view.base_version else "nothing"),
            ("for", view.actor),
            ("run", view.run_id),
            ("made", screen.ago(view.created_at_ms)),
            ("decided by", view.decided_by),
            ("reason", view.reason),
            ("version", view.file_version),
        ]
    )
    screen.document(f"{view.diff or '[no difference]'}\n")
