"""`understudy sample`: a workspace with something to see, and its removal."""

from typing import Final

from understudy.cli import screen
from understudy.cli.connection import Commands, DaemonConnection

commands = Commands("Sample: a demo workspace of a small team, to look around in.")

SAMPLE: Final[screen.Layout] = {
    "sample": "state",
    "agents": "agents",
    "sessions": "sessions",
    "runs": "runs",
    "candidates": "candidates",
    "learnings": "learnings",
    "skills": "skills",
    "rollouts": "rollouts",
}


@commands("show", show=SAMPLE)
def show(daemon: DaemonConnection) -> object:
    """Show whether the sample workspace is loaded, and what belongs to it."""
    return daemon.client.sample.read()


@commands("load", show=SAMPLE)
def load(daemon: DaemonConnection) -> object:
    """Fill a sample workspace; it needs no key and calls no model."""
    return daemon.client.sample.load()


@commands("remove", show=SAMPLE)
def remove(daemon: DaemonConnection) -> object:
    """Delete the sample's agents with all that was made in their sessions."""
    return daemon.client.sample.remove()
