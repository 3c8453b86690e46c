"""`understudy agents history` and `agents restore`: how an agent came to be what it is."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Final, cast

import typer

from understudy.cli import screen
from understudy.cli.agent_file_versions import list_versions, restore_version
from understudy.cli.arguments import AgentId, Cursor, Limit
from understudy.cli.connection import connect
from understudy.cli.hints import understudy
from understudy.cli.options import Commands
from understudy.cli.output import note

if TYPE_CHECKING:
    from understudy.wire.evolution import EntryKind, EvolutionEntry

commands = Commands("How agents evolved.")

SOUL: Final = "SOUL.md"
COLUMNS: Final = ("when", "what", "by", "run", "which")


@commands("history")
def history(
    ctx: typer.Context,
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
    limit: Limit = 50,
    cursor: Cursor = None,
) -> None:
    """Tell what made an agent what it is, newest first, or list the versions of a file."""
    with connect(ctx) as daemon:
        if name is not None:
            if kind is not None:
                raise typer.BadParameter("the versions of a file are all of one kind: no --kind")
            list_versions(daemon, agent_id, name, None, limit=limit, cursor=cursor, diff=diff)
            return
        page = daemon.client.agents.evolution_page(
            agent_id, kind=cast("EntryKind | None", kind), limit=limit, cursor=cursor
        )
        daemon.show(lambda: _tell(page.items, agent_id, diff=diff))
        daemon.more(page.next_cursor)


@commands("restore")
def restore(
    ctx: typer.Context,
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
    with connect(ctx) as daemon:
        restore_version(daemon, agent_id, names[0] if names else SOUL, None, int(version))


def _tell(entries: Sequence["EvolutionEntry"], agent_id: str, *, diff: bool) -> None:
    if not diff:
        rows = [_row(each) for each in entries]
        screen.table(COLUMNS, rows, empty="Nothing has changed this agent yet.")
        return
    for each in entries:
        print(" ".join(str(part) for part in _row(each) if part))
        text = getattr(each, "diff", None)
        if text:
            print(screen.visible(text))
            print()
    left_out = sum(getattr(each, "diff_omitted", False) for each in entries)
    if left_out:
        all_of_them = f"{understudy()} agents history {agent_id} {SOUL} --diff"
        note(f"{left_out} differences were left out; `{all_of_them}` shows those of all versions")


def _row(entry: "EvolutionEntry") -> tuple[object, ...]:
    # Each kind of entry has other fields, which its row of the table knows.
    what, by, which = ROWS[entry.kind](entry)
    return screen.ago(entry.at_ms), what, by, entry.run_id, which


# Those that read badly behind the word.
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
