"""`understudy agents`: configured workers, their switches and their history."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Final, cast

import typer

from understudy.cli import agent_files, inputs, screen
from understudy.cli.agent_files import list_versions
from understudy.cli.connection import Commands, DaemonConnection
from understudy.cli.options import AgentId, Key, PageOptions
from understudy.cli.output import note, understudy
from understudy.cli.table import Verb, declare

if TYPE_CHECKING:
    from understudy.evolution.record import EntryKind, EvolutionEntry
    from understudy.evolution.switch_costs import Cost, SwitchInForce
    from understudy.wire.agents import AgentView

SWITCH_COLUMNS: Final = ("switch", "now", "costs now", "costs when on")
OPEN: Final = "Open agents never evolve: every switch is off, whatever is stored."
# A switch that is on, but has no effect while SOUL.md is frozen.
FROZEN: Final = "on, but frozen"
# Display names of parts that differ from their field names.
PARTS: Final = {"skill_manage": "skill_manage", "nudge_70": "70 % nudge", "nudge_90": "90 % nudge"}
# The unit of a recurring cost: per request, or per run.
TIMES: Final = {"every_request": "a request", "once_per_run": "once a run"}
SOUL: Final = "SOUL.md"
HISTORY_COLUMNS: Final = ("when", "what", "by", "run", "which")


def _switch_row(switch: "SwitchInForce") -> tuple[object, ...]:
    costs = switch.costs
    named = {cost.part: PARTS.get(cost.part) or cost.part.replace("_", " ") for cost in costs}
    parts = "; ".join(f"{named[cost.part]}: {cost.tokens} {TIMES[cost.when]}" for cost in costs)
    return switch.name, _value(switch), _sum(costs if switch.on else ()), parts or "nothing"


def _value(switch: "SwitchInForce") -> object:
    if not isinstance(switch.value, bool):
        return switch.value
    if switch.value and not switch.on:
        return FROZEN
    return "on" if switch.value else "off"


def _sum(costs: Iterable["Cost"]) -> str:
    """The tokens that switches in force cost, per request and per run."""
    spent = dict.fromkeys(TIMES, 0)
    for cost in costs:
        spent[cost.when] += cost.tokens
    told = [f"{tokens} {TIMES[when]}" for when, tokens in spent.items() if tokens]
    return ", ".join(told) or "0 tokens"


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentOptions:
    """The options of an agent; `None` leaves a field unchanged."""

    name: Annotated[str | None, typer.Option("--name", help="What people call it.")] = None
    route: Annotated[
        str | None, typer.Option(help="Where its model calls go; empty clears it.")
    ] = None
    max_tool_iterations: Annotated[
        int | None, typer.Option(help="The most rounds of tool calls in a run.")
    ] = None
    self_evolve: Annotated[
        bool | None,
        typer.Option("--self-evolve/--no-self-evolve", help="It may rewrite its SOUL.md."),
    ] = None
    skill_evolve: Annotated[
        bool | None,
        typer.Option("--skill-evolve/--no-skill-evolve", help="It may make skills of its work."),
    ] = None
    nudge_interval: Annotated[
        int | None,
        typer.Option(
            "--nudge-interval",
            min=0,
            metavar="N",
            help="Offer a skill after N tool calls; 0: never.",
        ),
    ] = None
    other_config: Annotated[
        str | None,
        typer.Option(metavar="JSON", help="Its evolution switches and the like; null clears them."),
    ] = None
    permissions: Annotated[str | None, typer.Option(metavar="JSON", help="What it may do.")] = None
    owner: Annotated[
        str | None,
        typer.Option(metavar="USER", help="Who may change it, besides admins; empty: only admins."),
    ] = None

    def fields(self, **more_switches: bool | None) -> dict[str, Any]:
        """The options that were given, under the field names of the API."""
        from understudy.client.calls import given

        switches = given(
            self_evolve=self.self_evolve,
            skill_evolve=self.skill_evolve,
            skill_nudge_interval=self.nudge_interval,
            **more_switches,
        )
        about = given(
            display_name=self.name,
            route=self.route,
            max_tool_iterations=self.max_tool_iterations,
            permissions=inputs.json_object(self.permissions, "--permissions"),
            owner_id=self.owner,
        )
        if self.other_config is not None and self.other_config.strip() == "null":
            if switches:
                told = "--other-config null clears all switches; set some afterwards"
                raise typer.BadParameter(told)
            return {**about, "other_config": None}
        config = inputs.json_object(self.other_config, "--other-config")
        if not switches and config is None:
            return about
        return {**about, "other_config": {**(config or {}), **switches}}


commands = Commands("Agents: configured workers and their context files.")
commands.app.add_typer(agent_files.commands.app, name="files")
commands.app.add_typer(agent_files.proposals.app, name="proposals")

AGENTS_COLUMNS: Final[screen.Layout] = {
    "agent": "agent_id",
    "type": "agent_type",
    "route": "route",
    "iterations": "max_tool_iterations",
    "name": "display_name",
}


RECORD: Final[screen.Layout] = {
    "agent": "agent_id",
    "name": "display_name",
    "type": "agent_type",
    "owner": "owner_id",
    "route": "route",
    "iterations": "max_tool_iterations",
    "other config": "other_config",
    "permissions": "permissions",
    "version": "version",
    "changed": "updated_at_ms",
}


def _show(view: "AgentView") -> None:
    screen.record(view, RECORD)
    print()
    if view.agent_type == "open":
        print(OPEN)
    else:
        screen.table(SWITCH_COLUMNS, [_switch_row(each) for each in view.switches], empty="")


@commands("create", show=_show)
def create(
    daemon: DaemonConnection,
    agent_id: AgentId,
    *,
    agent_type: Annotated[
        str,
        typer.Option(
            "--type",
            help="`predefined` is shared, and may evolve; `open` has files of its own for each user.",
        ),
    ] = "predefined",
    about: AgentOptions,
    key: Key = None,
) -> object:
    """Create an agent."""
    from understudy.wire.agents import CreateAgent

    wanted = CreateAgent.model_validate(
        {"agent_id": agent_id, "agent_type": agent_type, **about.fields()}
    )
    return daemon.client.agents.create(wanted, key=key)


@commands("set", "update", show=_show)
def update(
    daemon: DaemonConnection,
    agent_id: AgentId,
    *,
    agent_type: Annotated[
        str | None, typer.Option("--type", help="`predefined`, or `open`, which never evolves.")
    ] = None,
    about: AgentOptions,
    soul_frozen: Annotated[
        bool | None,
        typer.Option("--soul-frozen/--no-soul-frozen", help="Only people change its SOUL.md."),
    ] = None,
    soul_review: Annotated[
        bool | None,
        typer.Option("--soul-review/--no-soul-review", help="Its changes wait for a decision."),
    ] = None,
) -> object:
    """Change an agent; what is not given stays, and switches hold from its next run on."""
    from understudy.wire.agents import UpdateAgent

    fields = about.fields(soul_frozen=soul_frozen, soul_review=soul_review)
    if agent_type is not None:
        fields["agent_type"] = agent_type
    if not fields:
        raise typer.BadParameter("give something to change")
    return daemon.client.agents.update(agent_id, UpdateAgent.model_validate(fields))


@commands("history")
def history(
    daemon: DaemonConnection,
    page: PageOptions,
    agent_id: AgentId,
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="Only the versions of this file.")
    ] = None,
    kind: Annotated[
        str | None,
        typer.Option(
            "--kind", help="Only `soul_version`, `proposal`, `nudge`, `offer` or `skill_version`."
        ),
    ] = None,
    diff: Annotated[
        bool, typer.Option("--diff", help="Show how SOUL.md, or the file, changed.")
    ] = False,
) -> None:
    """Tell what made an agent what it is, newest first, or list the versions of a file."""
    if name is not None:
        if kind is not None:
            raise typer.BadParameter("the versions of a file are all of one kind: no --kind")
        list_versions(daemon, agent_id, name, None, page, diff=diff)
        return
    found = daemon.client.agents.evolution_page(
        agent_id, kind=cast("EntryKind | None", kind), **page
    )
    daemon.show_answer(found, lambda found: _tell(found.items, agent_id, diff=diff))


@commands("restore")
def restore(
    daemon: DaemonConnection,
    agent_id: AgentId,
    which: Annotated[
        list[str],
        typer.Argument(metavar="[NAME] VERSION", help="Which version to bring back, of SOUL.md."),
    ],
) -> None:
    """Bring an earlier version of SOUL.md, or of the file that is named, back as a new one."""
    *names, version = which
    if len(names) > 1 or not version.isdecimal():
        raise typer.BadParameter("give a version, or a file and a version: SOUL.md 3")
    name = names[0] if names else SOUL
    view = daemon.client.agents.files.restore(agent_id, name, int(version))
    daemon.show(lambda: note(f"{name} of {agent_id} is at version {view.version}"))


def _tell(entries: Sequence["EvolutionEntry"], agent_id: str, *, diff: bool) -> None:
    if not diff:
        rows = [_history_row(each) for each in entries]
        screen.table(HISTORY_COLUMNS, rows, empty="Nothing has changed this agent yet.")
        return
    for each in entries:
        print(" ".join(str(part) for part in _history_row(each) if part))
        text = getattr(each, "diff", None)
        if text:
            print(screen.visible(text))
            print()
    left_out = sum(getattr(each, "diff_omitted", False) for each in entries)
    if left_out:
        all_of_them = f"{understudy()} agents history {agent_id} {SOUL} --diff"
        note(f"{left_out} differences were left out; `{all_of_them}` shows those of all versions")


def _history_row(entry: "EvolutionEntry") -> tuple[object, ...]:
    # Each kind of entry has its own fields and row function.
    what, by, which = ROWS[entry.kind](entry)
    return screen.ago(entry.at_ms), what, by, entry.run_id, which


# Display names of offer states.
_OFFER_STATES: Final = {"offered": "open"}
_Row = Callable[[Any], tuple[str, str | None, str]]
ROWS: Final[Mapping[str, _Row]] = {
    "soul_version": lambda it: (
        SOUL,
        it.actor,
        f"version {it.version}, " + ("deleted" if it.deleted else f"{it.size} bytes"),
    ),
    "proposal": lambda it: (f"proposal {it.state}", it.decided_by or it.actor, it.proposal_id),
    "nudge": lambda it: (
        "nudge",
        None,
        it.nudge if it.step is None else f"{it.nudge} at step {it.step}",
    ),
    "offer": lambda it: (
        f"offer {_OFFER_STATES.get(it.state, it.state)}",
        it.answered_by or it.user_id,
        f"{it.offer_id} {screen.visible(it.question)}",
    ),
    "skill_version": lambda it: (
        "skill created" if it.created else "skill changed",
        it.actor,
        f"{it.slug} version {it.version}",
    ),
}


declare(
    commands,
    Verb(
        names="list",
        call="agents.page",
        show=AGENTS_COLUMNS,
        empty="No agents yet. `{understudy} agents create ID` makes one.",
    ),
    Verb(names="show get", call="agents.get", show=_show),
    Verb(names="delete", call="agents.delete", show="agent {agent_id} is deleted"),
)
