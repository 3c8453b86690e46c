"""`understudy skills roots`: local folders whose skills are offered to you."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from understudy.cli import screen
from understudy.cli.connection import Commands, DaemonConnection
from understudy.cli.options import Key, PageOptions
from understudy.cli.output import note
from understudy.cli.table import Verb, declare

if TYPE_CHECKING:
    from understudy.skills.local.service import SkillRootReport

commands = Commands("Skill roots: folders whose skills are offered to whoever added them.")
COLUMNS: Final[screen.Layout] = {
    "root": "root_id",
    "path": lambda each: screen.visible(each.path),
    "owner": "owner_id",
    "skills": lambda each: ", ".join(each.skills),
    "left out": lambda each: len(each.left_out),
    "added": "created_at_ms",
}


NONE: Final = (
    "No skill roots: skills in folders are off."
    " `{understudy} skills roots add PATH` offers those of a folder to you."
)


@commands("list")
def list_roots(daemon: DaemonConnection, page: PageOptions) -> None:
    """List your skill roots, as an admin everybody's, with what is left out and why."""
    found = daemon.client.skill_roots.page(**page)
    daemon.show_answer(found, COLUMNS, NONE)
    for root in () if daemon.as_json else found.items:
        _tell_left_out(root)


def _tell_left_out(root: "SkillRootReport") -> None:
    for each in root.left_out:
        note(f"left out ({each.code}): {screen.visible(each.path)}")
        note(f"  {screen.visible(each.detail)}")


def _tell(root: "SkillRootReport") -> None:
    print(root.root_id)
    found = ", ".join(root.skills) or "no skill"
    note(f"{screen.visible(root.path)}: offered to {root.owner_id}: {found}")
    _tell_left_out(root)


@commands("add", show=_tell)
def add(
    daemon: DaemonConnection,
    path: Annotated[Path, typer.Argument(metavar="PATH", help="A folder on the daemon's machine.")],
    key: Key = None,
) -> object:
    """Offer the skills in a folder to yourself, and tell which pass the guard."""
    return daemon.client.skill_roots.add(str(path.expanduser().absolute()), key=key)


RootRef = Annotated[str, typer.Argument(metavar="ROOT", help="Its id, as `list` shows.")]


declare(
    commands,
    Verb(
        names="remove",
        call="skill_roots.remove",
        show="root {root_id} is removed; its folder stays as it is",
    ),
)
