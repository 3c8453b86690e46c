"""`understudy skills grant`, `revoke`, `grants` and `access`: who may use a skill, and why."""

from typing import Annotated, Final

import typer

from understudy.cli import screen, skill_records
from understudy.cli.connection import Commands, DaemonConnection
from understudy.cli.options import Key, PageOptions
from understudy.cli.skill_records import (
    Acknowledge,
    ForAgent,
    ForUser,
    SkillRef,
    acknowledged,
    answering_for,
)

commands = Commands("Who may use a skill.")


@commands("grant", show=skill_records.tell_reach)
def grant(
    daemon: DaemonConnection,
    skill: SkillRef,
    agent: ForAgent = None,
    user: ForUser = None,
    version: Annotated[
        int | None,
        typer.Option("--version", min=1, help="Only this version, whatever becomes current."),
    ] = None,
    acknowledge: Acknowledge = None,
    key: Key = None,
) -> object:
    """Let an agent use a skill, or a user with any agent."""
    _check_one(agent, user)
    if user is not None and version is not None:
        raise typer.BadParameter("--version is for agents")
    with answering_for(acknowledge):
        grants = daemon.client.skill_grants
        if agent is None:
            return grants.give_user(skill, user or "", key=key)
        taken = acknowledged(acknowledge)
        return grants.give_agent(skill, agent, version=version, acknowledged=taken, key=key)


@commands("revoke", show=skill_records.tell_reach)
def revoke(
    daemon: DaemonConnection, skill: SkillRef, agent: ForAgent = None, user: ForUser = None
) -> object:
    """Take a grant back; it holds from the next call on."""
    _check_one(agent, user)
    grants = daemon.client.skill_grants
    if agent is None:
        return grants.take_user(skill, user or "")
    return grants.take_agent(skill, agent)


GRANTS_COLUMNS: Final[screen.Layout] = {
    "kind": "kind",
    "to": lambda item: item.agent_id or item.user_id,
    "version": lambda item: item.pinned_version or "current",
    "by": "granted_by",
    "since": "created_at_ms",
}


@commands("grants", show=GRANTS_COLUMNS, empty="It is granted to nobody.")
def grants(daemon: DaemonConnection, page: PageOptions, skill: SkillRef) -> object:
    """List to whom a skill is granted; for its owner and admins."""
    return daemon.client.skill_grants.page(skill, **page)


ACCESS: Final[screen.Layout] = {
    "skill": "slug",
    "agent": "agent_id",
    "user": lambda view: view.user_id or "you",
    "allowed": "allowed",
    "because": lambda view: f"{skill_records.REASONS[view.reason]} ({view.reason})",
    "version": lambda view: (view.allowed and view.version) or None,
}


@commands("access", "explain", show=ACCESS)
def access(
    daemon: DaemonConnection, skill: SkillRef, agent: ForAgent = None, user: ForUser = None
) -> object:
    """Tell whether an agent that works for a user may use a skill, and why."""
    return daemon.client.skill_grants.access(skill, agent_id=agent, user_id=user)


def _check_one(agent: str | None, user: str | None) -> None:
    if (agent is None) == (user is None):
        raise typer.BadParameter("give --agent or --user, and not both")
