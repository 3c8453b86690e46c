"""`understudy agents`: configured workers."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from understudy.cli import agent_files, agent_proposals, inputs, screen
from understudy.cli.agent_switches import (
    NudgeInterval,
    SelfEvolve,
    SkillEvolve,
    SoulFrozen,
    SoulReview,
    config_fields,
    tell_switches,
)
from understudy.cli.arguments import AgentId, Cursor, Key, Limit
from understudy.cli.connection import Connection, connect
from understudy.cli.hints import understudy
from understudy.cli.options import Commands
from understudy.cli.output import note

if TYPE_CHECKING:
    from understudy.wire.agents import AgentView

commands = Commands("Agents: configured workers and their context files.")
commands.app.add_typer(agent_files.commands.app, name="files")
commands.app.add_typer(agent_proposals.commands.app, name="proposals")

Name = Annotated[str | None, typer.Option("--name", help="What people call it.")]
Route = Annotated[str | None, typer.Option(help="Where its model calls go; empty clears it.")]
Iterations = Annotated[int | None, typer.Option(help="The most rounds of tool calls in a run.")]
OtherConfig = Annotated[
    str | None,
    typer.Option(metavar="JSON", help="Its evolution switches and the like; null clears them."),
]
Permissions = Annotated[str | None, typer.Option(metavar="JSON", help="What it may do.")]
Owner = Annotated[
    str | None,
    typer.Option(metavar="USER", help="Who may change it beside the admins; empty: nobody."),
]


@commands("list")
def list_agents(ctx: typer.Context, limit: Limit = 50, cursor: Cursor = None) -> None:
    """List agents."""
    with connect(ctx) as daemon:
        page = daemon.client.agents.page(limit=limit, cursor=cursor)
        rows = [
            (
                item.agent_id,
                item.agent_type,
                item.route,
                item.max_tool_iterations,
                item.display_name,
            )
            for item in page.items
        ]
        empty = f"No agents yet. `{understudy()} agents create ID` makes one."
        columns = ("agent", "type", "route", "iterations", "name")
        daemon.show(lambda: screen.table(columns, rows, empty=empty))
        daemon.more(page.next_cursor)


@commands("create")
def create(
    ctx: typer.Context,
    agent_id: AgentId,
    agent_type: Annotated[
        str,
        typer.Option(
            "--type",
            help="`predefined` is shared, and may evolve; `open` has files of its own for each user.",
        ),
    ] = "predefined",
    name: Name = None,
    route: Route = None,
    max_tool_iterations: Iterations = None,
    self_evolve: SelfEvolve = None,
    skill_evolve: SkillEvolve = None,
    nudge_interval: NudgeInterval = None,
    other_config: OtherConfig = None,
    permissions: Permissions = None,
    owner: Owner = None,
    key: Key = None,
) -> None:
    """Create an agent."""
    from understudy.wire.agents import CreateAgent

    config = config_fields(
        other_config,
        self_evolve=self_evolve,
        skill_evolve=skill_evolve,
        skill_nudge_interval=nudge_interval,
    )
    fields = _fields(name, route, max_tool_iterations, permissions, owner) | config
    with connect(ctx) as daemon:
        wanted = CreateAgent.model_validate(
            {"agent_id": agent_id, "agent_type": agent_type, **fields}
        )
        _show(daemon, daemon.client.agents.create(wanted, key=key))


@commands("show", "get")
def show(ctx: typer.Context, agent_id: AgentId) -> None:
    """Show an agent, its switches, and what each of them costs in tokens."""
    with connect(ctx) as daemon:
        _show(daemon, daemon.client.agents.get(agent_id))


@commands("set", "update")
def update(
    ctx: typer.Context,
    agent_id: AgentId,
    agent_type: Annotated[
        str | None, typer.Option("--type", help="`predefined`, or `open`, which never evolves.")
    ] = None,
    name: Name = None,
    route: Route = None,
    max_tool_iterations: Iterations = None,
    self_evolve: SelfEvolve = None,
    skill_evolve: SkillEvolve = None,
    nudge_interval: NudgeInterval = None,
    soul_frozen: SoulFrozen = None,
    soul_review: SoulReview = None,
    other_config: OtherConfig = None,
    permissions: Permissions = None,
    owner: Owner = None,
) -> None:
    """Change an agent; what is not given stays, and switches hold from its next run on."""
    from understudy.client.calls import given
    from understudy.wire.agents import UpdateAgent

    config = config_fields(
        other_config,
        self_evolve=self_evolve,
        skill_evolve=skill_evolve,
        skill_nudge_interval=nudge_interval,
        soul_frozen=soul_frozen,
        soul_review=soul_review,
    )
    fields = _fields(name, route, max_tool_iterations, permissions, owner) | config
    fields |= given(agent_type=agent_type)
    if not fields:
        raise typer.BadParameter("give something to change")
    with connect(ctx) as daemon:
        _show(daemon, daemon.client.agents.update(agent_id, UpdateAgent.model_validate(fields)))


@commands("delete")
def delete(ctx: typer.Context, agent_id: AgentId) -> None:
    """Delete an agent."""
    with connect(ctx) as daemon:
        daemon.client.agents.delete(agent_id)
        daemon.show(lambda: note(f"agent {agent_id} is deleted"))


def _fields(
    name: str | None,
    route: str | None,
    max_tool_iterations: int | None,
    permissions: str | None,
    owner: str | None,
) -> dict[str, Any]:
    from understudy.client.calls import given

    return given(
        display_name=name,
        route=route,
        max_tool_iterations=max_tool_iterations,
        permissions=inputs.json_object(permissions, "--permissions"),
        owner_id=owner,
    )


def _show(daemon: Connection, view: "AgentView") -> None:
    pairs = [
        ("agent", view.agent_id),
        ("name", view.display_name),
        ("type", view.agent_type),
        ("owner", view.owner_id),
        ("route", view.route),
        ("iterations", view.max_tool_iterations),
        ("other config", screen.compact(view.other_config)),
        ("permissions", screen.compact(view.permissions)),
        ("version", view.version),
        ("changed", screen.ago(view.updated_at_ms)),
    ]

    def render() -> None:
        screen.fields(pairs)
        tell_switches(view)

    daemon.show(render)
