"""`understudy mailboxes`: messages for sessions and agents."""

from typing import Annotated, Final, TypeAlias

import typer

from understudy.cli import inputs, screen
from understudy.cli.connection import connect
from understudy.cli.options import Commands, Cursor, Key, Limit, Text, TextFile
from understudy.cli.output import note

commands = Commands("Mailboxes: messages for sessions and agents, each read in a run.")

Session: TypeAlias = Annotated[
    str | None, typer.Option("--session", metavar="SESSION", help="The mailbox of a session.")
]
Agent: TypeAlias = Annotated[
    str | None, typer.Option("--agent", metavar="AGENT", help="The mailbox of an agent.")
]
MessageId: TypeAlias = Annotated[str, typer.Argument(metavar="MESSAGE", help="The message's id.")]


COLUMNS: Final[screen.Layout] = {
    "message": "message_id",
    "status": "status",
    "tries": "attempts",
    "sent": "created_at_ms",
    "from": lambda message: message.sender.session_id or message.sender.user_id,
    "about": lambda message: message.reason or message.subject or message.content[:200],
}


@commands("send", "post")
def send(
    ctx: typer.Context,
    text: Text = None,
    file: TextFile = None,
    session: Session = None,
    agent: Agent = None,
    subject: Annotated[str | None, typer.Option(help="What it is about, in one line.")] = None,
    metadata: Annotated[
        str | None, typer.Option(metavar="JSON", help="Kept with the message.")
    ] = None,
    key: Key = None,
) -> None:
    """Send a message to --session or --agent."""
    from understudy.client.calls import given
    from understudy.wire.mailboxes import PostMessage

    _box(session, agent)
    fields = given(
        session_id=session,
        agent_id=agent,
        content=inputs.content(text, file),
        subject=subject,
        metadata=inputs.json_object(metadata, "--metadata"),
    )
    with connect(ctx) as daemon:
        message = daemon.client.mailboxes.send(PostMessage.model_validate(fields), key=key)
        daemon.show(lambda: print(message.message_id))


@commands("list")
def list_messages(
    ctx: typer.Context,
    session: Session = None,
    agent: Agent = None,
    status: Annotated[
        str | None, typer.Option(help="`pending`, `delivering`, `acked` or `dead`.")
    ] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> None:
    """List the messages in a mailbox, newest first; looking changes nothing."""
    in_agent, owner = _box(session, agent)
    with connect(ctx) as daemon:
        calls = daemon.client.mailboxes
        list_page = calls.of_agent_page if in_agent else calls.page
        page = list_page(owner, status=status, limit=limit, cursor=cursor)
        daemon.show_page(page, COLUMNS, empty="The mailbox is empty.")


@commands("dead")
def dead(
    ctx: typer.Context,
    session: Session = None,
    agent: Agent = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> None:
    """List the messages that were given up."""
    in_agent, owner = _box(session, agent)
    with connect(ctx) as daemon:
        calls = daemon.client.mailboxes
        dead_page = calls.dead_letters_of_agent_page if in_agent else calls.dead_letters_page
        page = dead_page(owner, limit=limit, cursor=cursor)
        daemon.show_page(page, COLUMNS, empty="No dead letters.")


@commands("ack")
def ack(
    ctx: typer.Context, message_id: MessageId, session: Session = None, agent: Agent = None
) -> None:
    """Take a message out that waits or was given up."""
    in_agent, owner = _box(session, agent)
    with connect(ctx) as daemon:
        calls = daemon.client.mailboxes
        (calls.ack_of_agent if in_agent else calls.ack)(owner, message_id)
        daemon.show(lambda: note(f"message {message_id} is acked"))


@commands("retry")
def retry(
    ctx: typer.Context, message_id: MessageId, session: Session = None, agent: Agent = None
) -> None:
    """Have a message that was given up delivered again."""
    in_agent, owner = _box(session, agent)
    with connect(ctx) as daemon:
        calls = daemon.client.mailboxes
        (calls.retry_of_agent if in_agent else calls.retry)(owner, message_id)
        daemon.show(lambda: note(f"message {message_id} is delivered again"))


def _box(session: str | None, agent: str | None) -> tuple[bool, str]:
    """Whether the mailbox is an agent's, and the id of the session or agent that it belongs to."""
    if session is not None and agent is None:
        return False, session
    if agent is not None and session is None:
        return True, agent
    raise typer.BadParameter("give either --session or --agent")
