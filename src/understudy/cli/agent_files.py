"""`understudy agents files` and `proposals`: context files of agents, and proposed changes."""

from typing import TYPE_CHECKING, Annotated, Any, Final, cast

import typer

from understudy.cli import inputs, screen
from understudy.cli.connection import Commands, DaemonConnection
from understudy.cli.options import AgentId, Key, PageOptions, TextFile
from understudy.cli.output import note, print_json

if TYPE_CHECKING:
    from understudy.evolution.proposals import ProposalState
    from understudy.wire.agents import FileVersionDetail, FileView, ProposalDetail, ProposalView

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


UNSEEN: Final = "nobody yet"
FILES_COLUMNS: Final[screen.Layout] = {
    "file": "name",
    "version": "version",
    "bytes": "size",
    "by": "actor",
    "accepted by": lambda item: item.reviewed_by or (UNSEEN if item.run_id else None),
    "written": "created_at_ms",
}


@commands(
    "list",
    show=FILES_COLUMNS,
    empty="No files yet. `{understudy} agents files set {agent_id} SOUL.md TEXT` writes one.",
)
def list_files(daemon: DaemonConnection, agent_id: AgentId, user: OfUser = None) -> object:
    """List the files in force."""
    files, who = files_of(daemon, user)
    return files.page(agent_id, *who)


def _show_content(view: "FileView | FileVersionDetail") -> None:
    if getattr(view, "deleted", False):
        note(f"{view.name} was deleted in version {view.version}")
    else:
        screen.document(view.content)


@commands("show", "get", show=_show_content)
def show(
    daemon: DaemonConnection,
    agent_id: AgentId,
    name: FileName,
    version: OfVersion = None,
    user: OfUser = None,
) -> object:
    """Print a file as it is in force, or as it was in a version."""
    files, who = files_of(daemon, user)
    if version is not None:
        return files.version(agent_id, *who, name, version)
    return files.get(agent_id, *who, name)


@commands("set", show="{name} of {agent_id} is at version {view.version}")
def write(
    daemon: DaemonConnection,
    agent_id: AgentId,
    name: FileName,
    text: Annotated[
        str | None, typer.Argument(metavar="[TEXT]", help="The content; `-` reads stdin.")
    ] = None,
    file: TextFile = None,
    user: OfUser = None,
    reason: Annotated[str | None, typer.Option(help="Why, for its history.")] = None,
) -> object:
    """Write a new version of a file."""
    content = inputs.content(text, file)
    files, who = files_of(daemon, user)
    return files.set(agent_id, *who, name, content, reason=reason)


@commands("delete", show="{name} of {agent_id} is out of force")
def delete(
    daemon: DaemonConnection, agent_id: AgentId, name: FileName, user: OfUser = None
) -> None:
    """Take a file out of force; its history stays."""
    files, who = files_of(daemon, user)
    files.delete(agent_id, *who, name)


@commands("history")
def history(
    daemon: DaemonConnection,
    page: PageOptions,
    agent_id: AgentId,
    name: FileName,
    diff: Diff = False,
    user: OfUser = None,
) -> None:
    """List the versions of a file, newest first."""
    list_versions(daemon, agent_id, name, user, page, diff=diff)


@commands("restore", show="{name} of {agent_id} is at version {view.version}")
def restore(
    daemon: DaemonConnection,
    agent_id: AgentId,
    name: FileName,
    version: Annotated[int, typer.Argument(metavar="VERSION", help="Which version to bring back.")],
    user: OfUser = None,
) -> object:
    """Bring an earlier version back as a new one."""
    files, who = files_of(daemon, user)
    return files.restore(agent_id, *who, name, version)


@commands("accept", show="version {view.version} of {name} stands as a person's")
def accept(
    daemon: DaemonConnection,
    agent_id: AgentId,
    name: FileName,
    version: Annotated[
        int | None, typer.Option("--version", min=1, help="The version that you have read.")
    ] = None,
    user: OfUser = None,
    key: Key = None,
) -> object:
    """Accept what an agent wrote into a file: prompts no longer quote it."""
    files, who = files_of(daemon, user)
    return files.accept(agent_id, *who, name, version, key=key)


VERSIONS_COLUMNS: Final[screen.Layout] = {
    "version": "version",
    "bytes": lambda item: "deleted" if item.deleted else item.size,
    "by": "actor",
    "run": "run_id",
    "written": "created_at_ms",
    "reason": "reason",
}
NEVER_WRITTEN: Final = "This file was never written."


def files_of(daemon: DaemonConnection, user: str | None) -> tuple[Any, tuple[str, ...]]:
    """The calls for an agent's own files, or those for a user's copies and whose these are."""
    agents = daemon.client.agents
    return (agents.files, ()) if user is None else (agents.user_files, (user,))


def list_versions(
    daemon: DaemonConnection,
    agent_id: str,
    name: str,
    user: str | None,
    page: PageOptions,
    *,
    diff: bool,
) -> None:
    """Show the versions of a file, newest first; or what each of them changed."""
    files, who = files_of(daemon, user)
    found = files.versions_page(agent_id, *who, name, **page)
    if not diff:
        daemon.show_answer(found, VERSIONS_COLUMNS, NEVER_WRITTEN)
        return
    # With --json one document holds what all versions changed.
    answers: list[Any] = []
    for item in found.items:
        view = files.version(agent_id, *who, name, item.version)
        answers.append(daemon.answer)
        if not daemon.as_json:
            _tell_change(view)
    if daemon.as_json:
        print_json({"items": answers, "next_cursor": found.next_cursor})
    elif not found.items:
        print(NEVER_WRITTEN)
    daemon.more(found.next_cursor)


def _tell_change(view: "FileVersionDetail") -> None:
    size = "deleted" if view.deleted else f"{view.size} bytes"
    when = screen.ago(view.created_at_ms)
    told = (f"version {view.version}", size, f"by {view.actor}", view.run_id, when)
    print(", ".join(part for part in told if part))
    print(screen.visible(view.diff) or "[no line differs]")
    print()


proposals = Commands("Changes to context files that runs propose and people decide on.")

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


@proposals("list", show=PROPOSALS_COLUMNS, empty="Nothing was proposed.")
def list_proposals(
    daemon: DaemonConnection,
    page: PageOptions,
    agent_id: AgentId,
    state: State = None,
) -> object:
    """List proposals, newest first."""
    return daemon.client.agents.proposals.page(
        agent_id, state=cast("ProposalState | None", state), **page
    )


PROPOSAL: Final[screen.Layout] = {
    "proposal": "proposal_id",
    "file": "name",
    "state": lambda view: f"{view.state}, outdated" if view.outdated else view.state,
    "made from": lambda view: f"version {view.base_version}" if view.base_version else "nothing",
    "for": "actor",
    "copy of": "user_id",
    "run": "run_id",
    "read text of others": lambda view: ", ".join(view.untrusted_sources) or None,
    "made": "created_at_ms",
    "decided by": "decided_by",
    "reason": "reason",
    "version": "file_version",
}


def _show_proposal(view: "ProposalDetail") -> None:
    screen.record(view, PROPOSAL)
    screen.document(f"{view.diff or '[no difference]'}\n")


@proposals("show", "get", show=_show_proposal)
def show_proposal(daemon: DaemonConnection, agent_id: AgentId, proposal_id: ProposalId) -> object:
    """Show what a proposal would change."""
    return daemon.client.agents.proposals.get(agent_id, proposal_id)


def _show_approved(view: "ProposalView") -> None:
    note(f"{view.name} of {view.agent_id} is at version {view.file_version}")
    if view.command is not None:
        note("the daemon may not write this file; run this yourself:")
        screen.document(f"{view.command}\n")


@proposals("approve", show=_show_approved)
def approve(
    daemon: DaemonConnection, agent_id: AgentId, proposal_id: ProposalId, key: Key = None
) -> object:
    """Put a proposal in force as a new version."""
    return daemon.client.agents.proposals.approve(agent_id, proposal_id, key=key)


@proposals("reject", show="{view.proposal_id} is rejected; {view.name} stays as it is")
def reject(
    daemon: DaemonConnection,
    agent_id: AgentId,
    proposal_id: ProposalId,
    reason: Annotated[str | None, typer.Option(help="Why it is not wanted.")] = None,
    key: Key = None,
) -> object:
    """Say no to a proposal; the file stays as it is."""
    return daemon.client.agents.proposals.reject(agent_id, proposal_id, reason, key=key)
