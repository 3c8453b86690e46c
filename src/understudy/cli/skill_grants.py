"""`understudy skills grant`, `revoke`, `grants` and `access`: who may use a skill, and why."""

from typing import TYPE_CHECKING, Annotated, Final

import typer

from understudy.cli import screen, skill_records
from understudy.cli.connection import connect
from understudy.cli.options import Commands, Cursor, Key, Limit
from understudy.cli.output import note
from understudy.cli.skill_records import (
    Acknowledge,
    ForAgent,
    ForUser,
    SkillRef,
    acknowledged,
    answering_for,
)

if TYPE_CHECKING:
    from understudy.wire.skills import SkillChanged

commands = Commands("Who may use a skill.")


@commands("grant")
def grant(
    ctx: typer.Context,
    skill: SkillRef,
    agent: ForAgent = None,
    user: ForUser = None,
    version: Annotated[
        int | None,
        typer.Option("--version", min=1, help="Only this version, whatever becomes current."),
    ] = None,
    acknowledge: Acknowledge = None,
    key: Key = None,
) -> None:
    """Let an agent use a skill, or a user with any agent."""
    _check_one(agent, user)
    if user is not None and version is not None:
        raise typer.BadParameter("--version is for agents")
    with connect(ctx) as daemon, answering_for(acknowledge):
        grants = daemon.client.skill_grants
        if agent is not None:
            taken = acknowledged(acknowledge)
            view = grants.give_agent(skill, agent, version=version, acknowledged=taken, key=key)
        else:
            view = grants.give_user(skill, user or "", key=key)
        daemon.show(lambda: _tell(view))


@commands("revoke")
def revoke(
    ctx: typer.Context, skill: SkillRef, agent: ForAgent = None, user: ForUser = None
) -> None:
    """Take a grant back; it holds from the next call on."""
    _check_one(agent, user)
    with connect(ctx) as daemon:
        grants = daemon.client.skill_grants
        if agent is not None:
            view = grants.take_agent(skill, agent)
        else:
            view = grants.take_user(skill, user or "")
        daemon.show(lambda: _tell(view))


GRANTS_COLUMNS: Final[screen.Layout] = {
    "kind": "kind",
    "to": lambda item: item.agent_id or item.user_id,
    "version": lambda item: item.pinned_version or "current",
    "by": "granted_by",
    "since": "created_at_ms",
}


@commands("grants")
def grants(ctx: typer.Context, skill: SkillRef, limit: Limit = 50, cursor: Cursor = None) -> None:
    """List to whom a skill is granted; for its owner and admins."""
    with connect(ctx) as daemon:
        page = daemon.client.skill_grants.page(skill, limit=limit, cursor=cursor)
        daemon.show_page(page, GRANTS_COLUMNS, empty="It is granted to nobody.")


@commands("access", "explain")
def access(
    ctx: typer.Context, skill: SkillRef, agent: ForAgent = None, user: ForUser = None
) -> None:
    """Tell whether an agent that works for a user may use a skill, and why."""
    with connect(ctx) as daemon:
        view = daemon.client.skill_grants.access(skill, agent_id=agent, user_id=user)
        pairs = [
            ("skill", view.slug),
            ("agent", view.agent_id),
            ("user", view.user_id or "you"),
            ("allowed", view.allowed),
            ("because", f"{skill_records.REASONS[view.reason]} ({view.reason})"),
            ("version", (view.allowed and view.version) or None),
        ]
        daemon.show(lambda: screen.fields(pairs))


def _check_one(agent: str | None, user: str | None) -> None:
    if (agent is None) == (user is None):
        raise typer.BadParameter("give --agent or --user, and not both")


def _tell(view: "SkillChanged") -> None:
    note(f"{view.slug} is {view.visibility}: {skill_records.REACH[view.visibility]}")
