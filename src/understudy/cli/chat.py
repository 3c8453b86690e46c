"""`understudy chat`: talk to an agent."""

import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Annotated, Final, TypeVar

import typer

from understudy.cli import inputs
from understudy.cli.connection import Connection, connect
from understudy.cli.conversation import Conversation
from understudy.cli.options import shared
from understudy.cli.output import ExitCode, error_lines, note
from understudy.cli.runs import finish
from understudy.cli.sessions import show_session

if TYPE_CHECKING:
    from understudy.wire.sessions import CreateSession

T = TypeVar("T")

HELP: Final = """\
/status   how the session stands
/new      go on in a new session
/quit     leave (so do Ctrl-D, and Ctrl-C at the prompt)
Ctrl-C while a reply comes interrupts the run, not the session."""


def chat(
    ctx: typer.Context,
    message: Annotated[
        str | None, typer.Argument(metavar="[MESSAGE]", help="Say this and leave; `-` reads stdin.")
    ] = None,
    session: Annotated[str | None, typer.Option(help="Go on in this session, or make it.")] = None,
    agent: Annotated[str | None, typer.Option(help="Who answers.")] = None,
    persona: Annotated[str | None, typer.Option(help="The persona to bind.")] = None,
    route: Annotated[str | None, typer.Option(help="The route of what is said here.")] = None,
) -> None:
    """Talk to an agent; with a MESSAGE, or with text on stdin, say that and leave."""
    from understudy.client.calls import given
    from understudy.wire.sessions import CreateSession

    text = _one_shot(message)
    if text is None and shared(ctx).json:
        raise typer.BadParameter("--json needs a MESSAGE, or text on stdin")
    fields = given(session_id=session, agent_id=agent, persona_id=persona)
    with connect(ctx) as daemon:
        wanted = CreateSession(**fields)
        if text is None:
            _talk(daemon, wanted, route)
        else:
            _say_once(daemon, wanted, route, text)


def _one_shot(message: str | None) -> str | None:
    if message is None and sys.stdin.isatty():
        return None
    text = sys.stdin.read() if message in (None, inputs.STDIN) else message
    if text is None or not text.strip():
        raise typer.BadParameter("there is nothing to say: the message is empty")
    return text


def _say_once(daemon: Connection, wanted: "CreateSession", route: str | None, text: str) -> None:
    session = daemon.client.sessions.create(wanted)
    conversation = Conversation(daemon.client, session, route_id=route)
    if daemon.as_json:
        run = daemon.client.runs.submit(session.session_id, conversation.input(text))
        finish(daemon, daemon.client.runs.wait(run.run_id))
        return
    conversation.introduce()
    if conversation.say(text) != "completed":
        raise typer.Exit(ExitCode.FAILED)


def _talk(daemon: Connection, wanted: "CreateSession", route: str | None) -> None:
    conversation = _begin(daemon, wanted, route)
    note("/help lists what you can type beside messages")
    while (line := _prompt()) is not None:
        if line.startswith("/"):
            if line == "/quit":
                return
            conversation = _command(daemon, conversation, wanted, line)
        elif line:
            _attempt(daemon, partial(conversation.say, line))


def _prompt() -> str | None:
    """A line from the terminal, or None when there will be no more."""
    with suppress(ImportError):
        import readline  # noqa: F401 - gives `input` editing and history
    try:
        return input("> ").strip()
    except (EOFError, KeyboardInterrupt):
        print()
        return None


def _command(
    daemon: Connection, conversation: Conversation, wanted: "CreateSession", line: str
) -> Conversation:
    client, session_id = daemon.client, conversation.session.session_id
    commands: Mapping[str, Callable[[], object]] = {
        "/help": lambda: note(HELP),
        "/status": lambda: show_session(daemon, client.sessions.get(session_id)),
    }
    if line == "/new":
        fresh = wanted.model_copy(update={"session_id": None})
        return (
            _attempt(daemon, lambda: _begin(daemon, fresh, conversation.route_id)) or conversation
        )
    _attempt(daemon, commands.get(line, lambda: note(f"{line} is not known; /help lists what is")))
    return conversation


def _begin(daemon: Connection, wanted: "CreateSession", route: str | None) -> Conversation:
    session = daemon.client.sessions.create(wanted)
    conversation = Conversation(daemon.client, session, route_id=route)
    conversation.introduce()
    return conversation


def _attempt(daemon: Connection, do: Callable[[], T]) -> T | None:
    """Do it; what goes wrong is said, and the conversation goes on."""
    from understudy.client import ClientError

    try:
        return do()
    except ClientError as problem:
        for text in error_lines(problem, has_token=daemon.has_token):
            note(text)
    except KeyboardInterrupt:
        print()
    return None
