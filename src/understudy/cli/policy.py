"""`understudy policy`: what operators decide about memory while the daemon runs."""

from understudy.cli import run_memory_policy
from understudy.cli.options import Commands

commands = Commands("Policy: what operators decide about memory.")
commands.app.add_typer(run_memory_policy.commands.app, name="run-memory")
