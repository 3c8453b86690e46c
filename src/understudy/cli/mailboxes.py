"""`understudy mailboxes`: messages for sessions and agents."""

from typing import Annotated, Final, TypeAlias

import typer

from understudy.cli import inputs, screen
from understudy.cli.connection import Commands, DaemonConnection
from understudy.cli.options import Key, PageOptions, Text, TextFile

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


@commands("send", "post", show=lambda message: print(message.message_id))
def send(
    daemon: DaemonConnection,
    text: Text = None,
    file: TextFile = None,
    session: Session = None,
    agent: Agent = None,
    subject: Annotated[str | None, typer.Option(help="What it is about, in one line.")] = None,
    metadata: Annotated[
        str | None, typer.Option(metavar="JSON", help="Kept with the message.")
    ] = None,
    key: Key = None,
) -> object:
    """Send a message to --session or --agent."""
    from understudy.wire.mailboxes import PostMessage

    _box(session, agent)
    wanted = inputs.request(
        PostMessage,
        session_id=session,
        agent_id=agent,
        content=inputs.content(text, file),
        subject=subject,
        metadata=inputs.json_object(metadata, "--metadata"),
    )
    return daemon.client.mailboxes.send(wanted, key=key)


@commands("list", show=COLUMNS, empty="The mailbox is empty.")
def list_messages(
    daemon: DaemonConnection,
    page: PageOptions,
    session: Session = None,
    agent: Agent = None,
    status: Annotated[
        str | None, typer.Option(help="`pending`, `delivering`, `acked` or `dead`.")
    ] = None,
) -> object:
    """List the messages in a mailbox, newest first; looking changes nothing."""
    in_agent, owner = _box(session, agent)
    calls = daemon.client.mailboxes
    list_page = calls.of_agent_page if in_agent else calls.page
    return list_page(owner, status=status, **page)


@commands("dead", show=COLUMNS, empty="No dead letters.")
def dead(
    daemon: DaemonConnection,
    page: PageOptions,
    session: Session = None,
    agent: Agent = None,
) -> object:
    """List the messages that were given up."""
    in_agent, owner = _box(session, agent)
    calls = daemon.client.mailboxes
    dead_page = calls.dead_letters_of_agent_page if in_agent else calls.dead_letters_page
    return dead_page(owner, **page)


@commands("ack", show="message {message_id} is acked")
def ack(
    daemon: DaemonConnection, message_id: MessageId, session: Session = None, agent: Agent = None
) -> None:
    """Take a message out that waits or was given up."""
    in_agent, owner = _box(session, agent)
    calls = daemon.client.mailboxes
    (calls.ack_of_agent if in_agent else calls.ack)(owner, message_id)


@commands("retry", show="message {message_id} is delivered again")
def retry(
    daemon: DaemonConnection, message_id: MessageId, session: Session = None, agent: Agent = None
) -> None:
    """Have a message that was given up delivered again."""
    in_agent, owner = _box(session, agent)
    calls = daemon.client.mailboxes
    (calls.retry_of_agent if in_agent else calls.retry)(owner, message_id)


def _box(session: str | None, agent: str | None) -> tuple[bool, str]:
    """Whether the mailbox is an agent's, and the id of its session or agent."""
    if session is not None and agent is None:
        return False, session
    if agent is not None and session is None:
        return True, agent
    raise typer.BadParameter("give either --session or --agent")
