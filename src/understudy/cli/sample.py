"""`understudy sample`: a workspace with something to see, and its removal."""

from typing import Final

from understudy.cli import screen
from understudy.cli.connection import Commands
from understudy.cli.table import Verb, declare

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


declare(
    commands,
    Verb(names="show", call="sample.read", show=SAMPLE),
    Verb(names="load", call="sample.load", show=SAMPLE),
    Verb(names="remove", call="sample.remove", show=SAMPLE),
)
