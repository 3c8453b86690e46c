"""The command `understudy`: every group of commands in one place."""

import io
import sys
from collections.abc import Callable
from typing import Annotated, Any, Final

import typer
from typer.core import TyperGroup

from understudy import __version__
from understudy.cli import (
    about,
    agent_history,
    agents,
    approvals,
    artifacts,
    assets,
    audit,
    candidates,
    chat,
    checkpoints,
    config,
    deliveries,
    doctor,
    lab,
    lab_frame,
    lab_guard,
    lab_learn,
    lab_rank,
    lab_redaction,
    learnings,
    mailboxes,
    mcp,
    memory,
    permissions,
    personas,
    policy,
    projects,
    questions,
    redact,
    review_candidates,
    rollout_steps,
    rollout_trials,
    rollouts,
    routes,
    runs,
    runtime,
    schedules,
    serve,
    session_settings,
    sessions,
    sidechains,
    skill_archives,
    skill_dependencies,
    skill_grants,
    skill_scan,
    skill_usage,
    skill_versions,
    skills,
    status,
    tasks,
    tokens,
    tools,
    webhooks,
)
from understudy.cli.options import Command, Commands, shared_options

COMMANDS: Final[dict[str, Callable[..., None]]] = {
    "chat": chat.chat,
    "status": status.status,
    "doctor": doctor.doctor,
    "audit": audit.audit,
    "redact": redact.redact,
    "openapi": about.openapi,
    "version": about.version,
}
GROUPS: Final[dict[str, tuple[Commands, ...]]] = {
    "sessions": (
        sessions.commands,
        session_settings.commands,
        sidechains.commands,
        tasks.commands,
        checkpoints.commands,
    ),
    "runs": (runs.commands, deliveries.commands, artifacts.commands),
    "approvals": (approvals.commands,),
    "questions": (questions.commands,),
    "personas": (personas.commands,),
    "projects": (projects.commands,),
    "agents": (agents.commands, agent_history.commands),
    "assets": (assets.commands,),
    "schedules": (schedules.commands,),
    "mailboxes": (mailboxes.commands,),
    "routes": (routes.commands,),
    "tools": (tools.commands,),
    "mcp": (mcp.commands,),
    "memory": (memory.commands,),
    "candidates": (candidates.commands,),
    "learnings": (learnings.commands,),
    "review": (review_candidates.commands,),
    "skills": (
        skills.commands,
        skill_archives.commands,
        skill_versions.commands,
        skill_usage.commands,
        skill_grants.commands,
        skill_scan.commands,
        skill_dependencies.commands,
    ),
    "rollouts": (rollouts.commands, rollout_steps.commands, rollout_trials.commands),
    "policy": (policy.commands,),
    "permissions": (permissions.commands,),
    "tokens": (tokens.commands,),
    "runtime": (runtime.commands,),
    "webhooks": (webhooks.commands,),
    "config": (config.commands,),
    "lab": (
        lab.commands,
        lab_frame.commands,
        lab_guard.commands,
        lab_learn.commands,
        lab_rank.commands,
        lab_redaction.commands,
    ),
}


class Root(TyperGroup):
    """The options that every command takes may also stand before it."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.params.extend(shared_options())


def build_app() -> typer.Typer:
    """The application with all its commands."""
    app = typer.Typer(
        name="understudy",
        cls=Root,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(understudy)
    app.command("serve")(serve.serve)
    for name, function in COMMANDS.items():
        app.command(name, cls=Command)(function)
    for name, parts in GROUPS.items():
        group = typer.Typer(help=parts[0].help, no_args_is_help=True)
        for part in parts:
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
    build_app()()


if __name__ == "__main__":
    main()
