"""The command `understudy`: every group of commands in one place."""

import io
import os
import sys
from collections.abc import Callable, Collection
from typing import Annotated, Any, Final

import typer
from typer.core import TyperGroup

from understudy import __version__
from understudy.cli import (
    access,
    agents,
    approvals,
    assets,
    background,
    candidates,
    channels,
    chat,
    doctor,
    flows,
    inbox,
    keys,
    lab,
    learnings,
    local,
    mailboxes,
    memory,
    permissions,
    personas,
    playbooks,
    policy,
    projects,
    questions,
    review,
    rollout_steps,
    rollouts,
    runs,
    runtime,
    sample,
    schedules,
    search,
    second_approvals,
    session_settings,
    sessions,
    setup,
    skill_checks,
    skill_versions,
    skills,
    tools,
    unlearn,
)
from understudy.cli.connection import Commands
from understudy.cli.options import ConnectedCommand, shared_options

COMMANDS: Final[dict[str, Callable[..., None]]] = {
    "setup": setup.setup,
    "chat": chat.chat,
    "learn": learnings.learn,
    "open": access.open_console,
    "inbox": inbox.inbox,
    "search": search.search,
    "status": doctor.status,
    "doctor": doctor.doctor,
    "audit": access.audit,
    "redact": local.redact,
    "openapi": local.openapi,
    "version": local.version,
}
GROUPS: Final[dict[str, tuple[Commands, ...]]] = {
    "sessions": (sessions.commands, session_settings.commands),
    "runs": (runs.commands,),
    "approvals": (approvals.commands,),
    "questions": (questions.commands,),
    "personas": (personas.commands,),
    "projects": (projects.commands,),
    "playbooks": (playbooks.commands,),
    "flows": (flows.commands,),
    "background": (background.commands,),
    "agents": (agents.commands,),
    "assets": (assets.commands,),
    "schedules": (schedules.commands,),
    "mailboxes": (mailboxes.commands,),
    "channels": (channels.commands,),
    "routes": (runtime.routes,),
    "tools": (tools.commands,),
    "mcp": (tools.mcp,),
    "memory": (memory.commands,),
    "candidates": (candidates.commands,),
    "learnings": (learnings.commands,),
    "review": (review.commands,),
    "skills": (skills.commands, skill_versions.commands, skill_checks.commands),
    "rollouts": (rollouts.commands, rollout_steps.commands),
    "policy": (policy.commands,),
    "permissions": (permissions.commands,),
    "second-approvals": (second_approvals.commands,),
    "tokens": (access.tokens,),
    "keys": (keys.commands,),
    "runtime": (runtime.commands,),
    "webhooks": (access.webhooks,),
    "config": (local.commands,),
    "sample": (sample.commands,),
    "lab": (lab.commands,),
    "unlearn": (unlearn.commands,),
}


class RootCommand(TyperGroup):
    """The options that every command takes may also stand before it."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.params.extend(shared_options())


def build_app(words: Collection[str] | None = None) -> typer.Typer:
    """The application with all its commands.

    Reading what each command takes lasts longer than most commands do. So a group that is not among
    the words of the command line stays empty: it is listed, and nobody looks into it.
    """
    app = typer.Typer(
        name="understudy",
        cls=RootCommand,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(understudy)
    app.command("serve")(local.serve)
    for name, function in COMMANDS.items():
        app.command(name, cls=ConnectedCommand)(function)
    for name, parts in GROUPS.items():
        group = typer.Typer(help=parts[0].help, no_args_is_help=True)
        for part in parts if words is None or name in words else ():
            group.add_typer(part.app)
        app.add_typer(group, name=name)
    return app


def _print_version(wanted: bool) -> None:
    if wanted:
        print(__version__)
        raise typer.Exit


def understudy(
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            is_eager=True,
            callback=_print_version,
            help="Print the version and leave.",
        ),
    ] = False,
) -> None:
    """Run agents in durable sessions.

    `serve` runs the daemon; most other commands talk to a running one.
    """


def main() -> None:
    """Run the command line that was typed."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a character shows its number instead.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    # To complete a command line, a shell passes it in the environment.
    completes = "_UNDERSTUDY_COMPLETE" in os.environ
    build_app(None if completes else sys.argv[1:])()


if __name__ == "__main__":
    main()
