"""`understudy chat`: talk to an agent."""

import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, TypeVar

import typer

from understudy.cli import attachments, inputs, screen
from understudy.cli.arguments import Locale
from understudy.cli.attachments import Asset, Attach
from understudy.cli.connection import Connection, connect
from understudy.cli.conversation import Conversation
from understudy.cli.needs import WAITING
from understudy.cli.options import shared
from understudy.cli.output import ExitCode, error_lines, note
from understudy.cli.person import read_line, somebody
from understudy.cli.runs import finish
from understudy.cli.sessions import show_session

if TYPE_CHECKING:
    from understudy.wire.sessions import CreateSession

T = TypeVar("T")

ATTACH: Final = "/attach"
HELP: Final = """\
/attach PATH  send a file along with the next message
/pending      answer what the session waits for, or an offer
/status       how the session stands
/new          go on in a new session
/quit         leave (so do Ctrl-D, and Ctrl-C at the prompt)
Ctrl-C while a reply comes interrupts the run, not the session; while you are asked
something it leaves the run waiting."""


def chat(
    ctx: typer.Context,
    message: Annotated[
        str | None, typer.Argument(metavar="[MESSAGE]", help="Say this and leave; `-` reads stdin.")
    ] = None,
    session: Annotated[str | None, typer.Option(help="Go on in this session, or make it.")] = None,
    agent: Annotated[str | None, typer.Option(help="Who answers.")] = None,
    persona: Annotated[str | None, typer.Option(help="The persona to bind.")] = None,
    route: Annotated[str | None, typer.Option(help="The route of what is said here.")] = None,
    locale: Locale = None,
    attach: Attach = None,
    asset: Asset = None,
) -> None:
    """Talk to an agent; with a MESSAGE, or with text on stdin, say that and leave."""
    from understudy.client.calls import given
    from understudy.wire.sessions import CreateSession

    text = _one_shot(message)
    if text is None and shared(ctx).json:
        raise typer.BadParameter("--json needs a MESSAGE, or text on stdin")
    fields = given(session_id=session, agent_id=agent, persona_id=persona)
    attached = attachments.named(ctx, attach, asset)
    with connect(ctx) as daemon:
        wanted = CreateSession(**fields)
        conversation = _open(daemon, wanted, route, locale)
        conversation.attach(attached)
        if text is None:
            _talk(daemon, wanted, conversation)
        else:
            _say_once(daemon, conversation, text)


def _one_shot(message: str | None) -> str | None:
    if message is None and sys.stdin.isatty():
        return None
    text = sys.stdin.read() if message in (None, inputs.STDIN) else message
    if text is None or not text.strip():
        raise typer.BadParameter("there is nothing to say: the message is empty")
    return text


def _say_once(daemon: Connection, conversation: Conversation, text: str) -> None:
    if daemon.as_json:
        if (waiting := conversation.waiting_run()) is not None:
            finish(daemon, waiting)
        run = conversation.submit(text)
        finish(daemon, daemon.client.runs.wait_settled(run.run_id))
        return
    conversation.introduce()
    status = conversation.say(text)
    if status != "completed":
        raise typer.Exit(ExitCode.REFUSED if status in WAITING else ExitCode.FAILED)


def _talk(daemon: Connection, wanted: "CreateSession", conversation: Conversation) -> None:
    conversation.introduce()
    note("/help lists what you can type beside messages")
    _attempt(daemon, conversation.take_up)
    while (line := _prompt()) is not None:
        if line.startswith("/"):
            if line == "/quit":
                return
            conversation = _command(daemon, conversation, wanted, line)
        elif line:
            _attempt(daemon, partial(conversation.say, line))


def _prompt() -> str | None:
    """A line from the terminal, or None when there will be no more."""
    try:
        return read_line("> ")
    except (EOFError, KeyboardInterrupt):
        print()
        return None


def _command(
    daemon: Connection, conversation: Conversation, wanted: "CreateSession", line: str
) -> Conversation:
    client, session_id = daemon.client, conversation.session.session_id
    word, _, rest = line.partition(" ")
    commands: Mapping[str, Callable[[], object]] = {
        "/help": lambda: note(HELP),
        ATTACH: lambda: _attach(conversation, rest.strip()),
        "/pending": lambda: _take_up(conversation),
        "/status": lambda: show_session(daemon, client.sessions.get(session_id)),
    }
    if line == "/new":
        fresh = wanted.model_copy(update={"session_id": None})
        return _attempt(daemon, lambda: _begin(daemon, fresh, conversation)) or conversation
    known = word if word == ATTACH else line
    _attempt(daemon, commands.get(known, lambda: note(f"{line} is not known; /help lists what is")))
    return conversation


def _attach(conversation: Conversation, path: str) -> None:
    """Read and upload a file; what is wrong with it is said at once."""
    if not path:
        note("give the path of a file after /attach")
        return
    try:
        file = attachments.read(Path(path).expanduser())
    except (typer.BadParameter, RuntimeError) as problem:
        note(f"error: {problem}")
        return
    conversation.attach([file])
    note(f"{file.name} ({screen.count(len(file.data), 'byte')}) goes with your next message")


def _take_up(conversation: Conversation) -> None:
    """Ask for what a run waits for; where none does, about what is offered."""
    if conversation.waiting_run() is not None:
        conversation.take_up()
    elif not conversation.take_up_offers():
        note("nothing waits for you")


def _open(
    daemon: Connection, wanted: "CreateSession", route: str | None, locale: str | None
) -> Conversation:
    session = daemon.client.sessions.create(wanted)
    return Conversation(daemon.client, session, route_id=route, locale=locale, person=somebody())


def _begin(daemon: Connection, wanted: "CreateSession", like: Conversation) -> Conversation:
    conversation = _open(daemon, wanted, like.route_id, like.locale)
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
