"""`understudy search`: find anything by its name or its words."""

from typing import TYPE_CHECKING, Annotated, Final

import typer

from understudy.cli import screen
from understudy.cli.connection import DaemonConnection, command

if TYPE_CHECKING:
    from understudy.retrieval.jump import JumpAnswer

FOUND_THINGS: Final[screen.Layout] = {
    "kind": "kind",
    "id": "id",
    "label": "label",
    "when": "at_ms",
    "what": "title",
}


def _tell(view: "JumpAnswer") -> None:
    screen.records(view.items, FOUND_THINGS, empty="Nothing fits.")


@command(show=_tell)
def search(
    daemon: DaemonConnection,
    query: Annotated[
        str,
        typer.Argument(metavar="QUERY", help="Part of an id or name, or words that it says."),
    ],
) -> object:
    """Find agents, sessions, skills, learnings, candidates and runs."""
    return daemon.client.search.find(query=query)
