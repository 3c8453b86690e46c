"""The command `understudy`: every group of commands in one place."""

import io
import os
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Annotated, Any, Final

import typer
from typer.core import TyperGroup

from understudy import __version__
from understudy.cli.options import ConnectedCommand, ServesByDefault, shared_options


class LazyEntry:
    """A command or a group of commands, imported when a command line names it.

    Importing all of them lasts longer than most commands do.
    """

    def __init__(
        self,
        help: str,  # noqa: A002 - the word that Typer uses
        *places: str,
        kind: type[TyperGroup] | None = None,
    ) -> None:
        # The same text as in the module; a test compares them.
        self.help = help
        # Module and attribute of each part, for lazy imports.
        self.places = places
        # The class of a group that does something by itself.
        self.kind = kind

    def parts(self) -> list[Any]:
        """Import the parts."""
        named = (place.split(":") for place in self.places)
        return [getattr(import_module(f"understudy.cli.{module}"), name) for module, name in named]


COMMANDS: Final[Mapping[str, LazyEntry]] = {
    "serve": LazyEntry(
        "Run the daemon until a signal stops it: the first one drains, a second one ends it.",
        "local:serve",
    ),
    "setup": LazyEntry(
        "Choose the model, and whether learning and skills are on; run it again to change them.",
        "setup:setup",
    ),
    "chat": LazyEntry(
        "Talk to an agent; with a MESSAGE, or with text on stdin, say that and leave.", "chat:chat"
    ),
    "learn": LazyEntry("Publish a statement as a learning, in one step.", "learnings:learn"),
    "import": LazyEntry(
        "Make conversations of what Claude Code, Codex or Hermes has kept, and proposals of its memory.",
        "imports:import_transcripts",
    ),
    "publish": LazyEntry(
        "Write reviewed learnings and granted skills into a repository.", "publish:publish"
    ),
    "open": LazyEntry(
        "Open the console in a browser, where one click signs in; the link works once.",
        "access:open_console",
    ),
    "connect": LazyEntry(
        "Put Claude Code or Codex under review; `connect status` says whether its events arrive.",
        "connect:connect",
    ),
    "disconnect": LazyEntry(
        "Take a tool out of review: its files are as they were before, and its token ends.",
        "connect:disconnect",
    ),
    "inbox": LazyEntry(
        "List what waits for a person: approvals, questions, proposals, skill drafts, rollout steps, candidates.",
        "inbox:inbox",
    ),
    "search": LazyEntry(
        "Find agents, sessions, skills, learnings, candidates and runs.", "search:search"
    ),
    "status": LazyEntry("Show what the daemon is and does.", "doctor:status"),
    "doctor": LazyEntry(
        "Look at the daemon and its surroundings; every finding says how to mend it.",
        "doctor:doctor",
    ),
    "audit": LazyEntry(
        "List who did what, and who was told no; newest first. `audit verify` checks the rows.",
        "access:audit",
    ),
    "api": LazyEntry(
        "Call an operation of the HTTP API; fields go into the query of GET and DELETE.",
        "api:call_api",
    ),
    "redact": LazyEntry(
        "Read text on stdin and print it without secrets and personal data.", "local:redact"
    ),
    "openapi": LazyEntry(
        "Print the OpenAPI document of this version; no daemon is needed.", "local:openapi"
    ),
    "version": LazyEntry("Print the version.", "local:version"),
}
GROUPS: Final[Mapping[str, LazyEntry]] = {
    "sessions": LazyEntry(
        "Sessions: durable conversations, each of one agent.",
        "sessions:commands",
        "session_settings:commands",
    ),
    "runs": LazyEntry(
        "Runs: execution requests in sessions, one at a time in each.", "runs:commands"
    ),
    "approvals": LazyEntry(
        "Approvals: tool calls that wait for a person to agree, and offers.", "approvals:commands"
    ),
    "questions": LazyEntry("Questions: what runs ask people.", "questions:commands"),
    "personas": LazyEntry(
        "Personas: instructions that sessions take a snapshot of.", "personas:commands"
    ),
    "projects": LazyEntry(
        "Projects: sessions and people that work on one thing.", "projects:commands"
    ),
    "playbooks": LazyEntry(
        "Playbooks: described procedures that flows carry out.", "playbooks:commands"
    ),
    "flows": LazyEntry(
        "Flows: starts of playbooks, with their contract and evidence.", "flows:commands"
    ),
    "background": LazyEntry(
        "Background tasks: shell commands that outlive the run that started them.",
        "background:commands",
    ),
    "agents": LazyEntry("Agents: configured workers and their context files.", "agents:commands"),
    "assets": LazyEntry(
        "Assets: files that inputs name by id, kept once per content.", "assets:commands"
    ),
    "schedules": LazyEntry(
        "Schedules: runs that are submitted at their time, again and again.", "schedules:commands"
    ),
    "mailboxes": LazyEntry(
        "Mailboxes: messages for sessions and agents, each read in a run.", "mailboxes:commands"
    ),
    "channels": LazyEntry(
        "Channels: public rooms in which agents and people take turns.", "channels:commands"
    ),
    "routes": LazyEntry("Routes: where model calls can go.", "runtime:routes"),
    "tools": LazyEntry("Tools: what agents can do.", "tools:commands"),
    "mcp": LazyEntry(
        "MCP: servers whose tools agents can use; alone it serves other agents on stdio.",
        "tools:mcp",
        "mcp_stdio:commands",
        kind=ServesByDefault,
    ),
    "memory": LazyEntry("Memory: what sessions know and remember, and why.", "memory:commands"),
    "candidates": LazyEntry(
        "Candidates: what might be worth knowing, and waits for a decision.", "candidates:commands"
    ),
    "learnings": LazyEntry(
        "Learnings: what is known, where it came from, and how it is taken back.",
        "learnings:commands",
    ),
    "review": LazyEntry("Review: go through what waits for a person.", "review:commands"),
    "skills": LazyEntry(
        "Skills: what agents can be told to do, in versions, with an owner and grants.",
        "skills:commands",
        "skill_versions:commands",
        "skill_checks:commands",
    ),
    "rollouts": LazyEntry(
        "Rollouts: procedures that become skills, stage by stage.",
        "rollouts:commands",
        "rollout_steps:commands",
    ),
    "policy": LazyEntry(
        "Policy: what operators decide about memory and learning.", "policy:commands"
    ),
    "permissions": LazyEntry(
        "Permissions: which tool calls may run, for every agent.", "permissions:commands"
    ),
    "second-approvals": LazyEntry(
        "Second approvals: changes that wait for a second person.", "second_approvals:commands"
    ),
    "tokens": LazyEntry("Tokens: who may call, and in which role.", "access:tokens"),
    "keys": LazyEntry(
        "Keys: what exported skills are signed with, and whose signatures are trusted.",
        "keys:commands",
    ),
    "runtime": LazyEntry(
        "Runtime: settings that change while the daemon runs.", "runtime:commands"
    ),
    "webhooks": LazyEntry(
        "Webhooks: the secret that deliveries are signed with.", "access:webhooks"
    ),
    "config": LazyEntry("Config: what the daemon would start with here.", "local:commands"),
    "sample": LazyEntry(
        "Sample: a demo workspace of a small team, to look around in.", "sample:commands"
    ),
    "lab": LazyEntry(
        "Try the product's own parts: on one text, or on JSON lines from stdin to stdout.",
        "lab:commands",
    ),
    "unlearn": LazyEntry(
        "Unlearn: what came of something; take it out of use, or erase its text.",
        "unlearn:commands",
    ),
}


# What a newcomer types, in this order, and the rest by subject.
FIRST: Final = (
    *("serve", "setup", "connect", "chat", "review"),
    *("learn", "learnings", "skills", "unlearn", "doctor"),
)
MORE: Final[Mapping[str, tuple[str, ...]]] = {
    "work": (
        *("sessions", "runs", "approvals", "questions", "inbox", "schedules", "mailboxes"),
        *("channels", "projects", "playbooks", "flows", "background", "assets"),
    ),
    "memory": ("memory", "search", "candidates", "policy", "rollouts", "publish", "import"),
    "agents": ("agents", "personas", "permissions", "tools", "mcp", "routes", "disconnect"),
    "daemon": (
        *("status", "open", "api", "openapi", "audit", "tokens", "keys", "webhooks"),
        *("second-approvals", "runtime", "config", "backup", "restore", "migrate", "sample", "lab"),
        *("redact", "version"),
    ),
}


class RootCommand(TyperGroup):
    """Accepts the shared options before the command, too."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """The ten commands to begin with, and the names of the others by subject."""
        helps = {
            name: each.get_short_help_str(100).partition(";")[0].rstrip(".") + "."
            for name, each in self.commands.items()
        }
        with formatter.section("Begin with"):
            formatter.write_dl([(name, helps[name]) for name in FIRST if name in helps])
        told = {*FIRST, *(name for names in MORE.values() for name in names)}
        others = tuple(name for name in helps if name not in told)
        groups = {**MORE, **({"other": others} if others else {})}
        with formatter.section("More"):
            formatter.write_dl(
                [
                    (subject, ", ".join(name for name in names if name in helps))
                    for subject, names in groups.items()
                ]
            )

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.params.extend(shared_options())


def build_app(words: Sequence[str] | None = None) -> typer.Typer:
    """The application with all its commands.

    What is not among the words of the command line stays empty: it is listed, and nobody looks into
    it.
    """
    app = typer.Typer(
        name="understudy",
        cls=RootCommand,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(understudy)
    for name, entry in COMMANDS.items():
        kind = None if name == "serve" else ConnectedCommand
        (function,) = entry.parts() if words is None or name in words else (_nothing,)
        summary = entry.help if function is _nothing else None
        app.command(name, cls=kind, help=summary)(function)
    for name, entry in GROUPS.items():
        group = typer.Typer(help=entry.help, cls=entry.kind, no_args_is_help=entry.kind is None)
        for part in entry.parts() if words is None or name in words else ():
            group.registered_commands += part.app.registered_commands
            group.registered_groups += part.app.registered_groups
        if words is not None and name in words:
            _keep_named(group, words[words.index(name) + 1 :])
        app.add_typer(group, name=name)
    return app


def _keep_named(group: typer.Typer, words: Sequence[str]) -> None:
    """Leave only the command that stands next on the command line, if the group has it.

    Typer makes the parameters of all commands otherwise.
    """
    commands = [each for each in group.registered_commands if each.name in words[:1]]
    groups = [each for each in group.registered_groups if each.name in words[:1]]
    if commands or groups:
        group.registered_commands, group.registered_groups = commands, groups


def _nothing() -> None:
    """A placeholder for a command that is not called."""


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
        # Characters that the terminal cannot encode are escaped.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    # For completion, a shell passes the command line in the environment.
    completes = "_UNDERSTUDY_COMPLETE" in os.environ
    build_app(None if completes else sys.argv[1:])()


if __name__ == "__main__":
    main()
