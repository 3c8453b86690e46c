"""`understudy channels`: public rooms in which agents and people take turns."""

from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias

import typer

from understudy.cli import bridges, inputs, screen
from understudy.cli.connection import Commands, DaemonConnection
from understudy.cli.options import Key, PageOptions, Text, TextFile
from understudy.cli.output import note
from understudy.cli.table import Verb, declare

if TYPE_CHECKING:
    from understudy.channels.arbitration import Arbitration, SilentTurn

commands = Commands("Channels: public rooms in which agents and people take turns.")
members = Commands("Who is in a channel, and how they take part.")
messages = Commands("What was said in a channel.")
commands.app.add_typer(members.app, name="members")
commands.app.add_typer(messages.app, name="messages")
commands.app.add_typer(bridges.commands.app, name="bridges")

ChannelId: TypeAlias = Annotated[str, typer.Argument(metavar="CHANNEL", help="The channel's id.")]
ChannelMessageId: TypeAlias = Annotated[
    str, typer.Argument(metavar="MESSAGE", help="The message's id.")
]
Thread: TypeAlias = Annotated[
    str | None, typer.Option("--thread", metavar="MESSAGE", help="The root of a thread.")
]
Title: TypeAlias = Annotated[str | None, typer.Option(help="What people call it.")]
Description: TypeAlias = Annotated[str | None, typer.Option(help="What it is about.")]
Purpose: TypeAlias = Annotated[str | None, typer.Option(help="What agents are told it is for.")]
Policy: TypeAlias = Annotated[
    str | None, typer.Option(metavar="JSON", help="Fields of the autonomy policy.")
]
Metadata: TypeAlias = Annotated[
    str | None, typer.Option(metavar="JSON", help="Kept with the channel.")
]
Mode: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="`manual_only`, `selected_only`, `prefer_selected` or `always_listen`.",
    ),
]
Person: TypeAlias = Annotated[
    list[str] | None, typer.Option("--person", metavar="USER", help="A person; repeatable.")
]
Sessions: TypeAlias = Annotated[
    list[str] | None, typer.Option("--session", metavar="SESSION", help="A session; repeatable.")
]

RECORD: Final[screen.Layout] = {
    "channel": "channel_id",
    "title": "title",
    "purpose": "purpose",
    "description": "description",
    "paused": lambda view: "yes" if view.paused else None,
    "members": lambda view: [
        f"{each.display_name} ({each.member_id}, {each.member_kind.replace('_', ' ')}"
        f"{', muted' if each.muted else ''})"
        for each in view.members
    ],
    "messages": "message_count",
    "last": "last_message_preview",
    "changed": "updated_at_ms",
}
COLUMNS: Final[screen.Layout] = {
    "channel": "channel_id",
    "members": lambda item: len(item.members),
    "messages": "message_count",
    "title": "title",
    "last": "last_message_preview",
}
MEMBER_COLUMNS: Final[screen.Layout] = {
    "member": "member_id",
    "kind": "member_kind",
    "name": "display_name",
    "mode": "participation_mode",
    "muted": lambda item: "yes" if item.muted else "",
    "role": "role",
}
MESSAGE_COLUMNS: Final[screen.Layout] = {
    "message": "message_id",
    "sent": "created_at_ms",
    "from": lambda item: item.sender.display_name,
    "reply to": "reply_to_message_id",
    "reactions": lambda item: " ".join(f"{each.emoji}{each.count}" for each in item.reactions),
    "text": lambda item: item.content[:200],
}
LEASE_COLUMNS: Final[screen.Layout] = {
    "turn": "turn_id",
    "thread": "thread_root_message_id",
    "speaks": "holder_session_id",
    "run": "active_run_id",
    "why": lambda item: ", ".join(item.reasons),
    "next": lambda item: ", ".join(item.queued_candidate_session_ids),
    "until": "expires_at_ms",
}


@commands("create", show=RECORD)
def create(
    daemon: DaemonConnection,
    channel_id: ChannelId,
    title: Title = None,
    purpose: Purpose = None,
    description: Description = None,
    session: Sessions = None,
    person: Person = None,
    mode: Mode = None,
    policy: Policy = None,
    metadata: Metadata = None,
    key: Key = None,
) -> object:
    """Create a channel, with sessions and people as its members."""
    from understudy.wire.channels import CreateChannel

    people = [{"member_id": user, "member_kind": "human_actor"} for user in person or ()]
    wanted = inputs.request(
        CreateChannel,
        channel_id=channel_id,
        title=title or channel_id,
        purpose=purpose,
        description=description,
        members=[*people, *({"member_id": each} for each in session or ())],
        default_participation_mode=mode,
        autonomy_policy=inputs.json_object(policy, "--policy"),
        metadata=inputs.json_object(metadata, "--metadata"),
    )
    return daemon.client.channels.create(wanted, key=key)


@commands("update", "set", show=RECORD)
def update(
    daemon: DaemonConnection,
    channel_id: ChannelId,
    title: Title = None,
    purpose: Purpose = None,
    description: Description = None,
    paused: Annotated[
        bool | None, typer.Option("--paused/--resumed", help="Whether agents take new turns.")
    ] = None,
    mode: Mode = None,
    policy: Policy = None,
    metadata: Metadata = None,
) -> object:
    """Change a channel."""
    from understudy.wire.channels import UpdateChannel

    changes = inputs.change(
        UpdateChannel,
        title=title,
        purpose=purpose,
        description=description,
        paused=paused,
        default_participation_mode=mode,
        autonomy_policy=inputs.json_object(policy, "--policy"),
        metadata=inputs.json_object(metadata, "--metadata"),
    )
    return daemon.client.channels.update(channel_id, changes)


@members("list", show=MEMBER_COLUMNS, empty="Nobody is in this channel.")
def list_members(daemon: DaemonConnection, channel_id: ChannelId, page: PageOptions) -> object:
    """List the members of a channel."""
    return daemon.client.channels.members_page(channel_id, **page)


@members("add", "set", show=RECORD)
def add_member(
    daemon: DaemonConnection,
    channel_id: ChannelId,
    member_id: Annotated[str, typer.Argument(metavar="MEMBER", help="The member's id.")],
    kind: Annotated[str, typer.Option(help="`session` or `human_actor`.")] = "session",
    name: Annotated[str | None, typer.Option(help="What the others call it.")] = None,
    session: Annotated[str | None, typer.Option(help="The session, if not MEMBER.")] = None,
    actor: Annotated[str | None, typer.Option(help="The person's user id, if not MEMBER.")] = None,
    role: Annotated[str | None, typer.Option(help="What it does here.")] = None,
    mode: Mode = None,
    muted: Annotated[bool, typer.Option(help="Whether it is kept from speaking.")] = False,
    follow_agent: Annotated[bool, typer.Option(help="Take the name from its agent.")] = False,
) -> object:
    """Let a session or a person join, or change how they take part."""
    from understudy.wire.channels import PutChannelMember

    wanted = inputs.request(
        PutChannelMember,
        member_id=member_id,
        member_kind=kind,
        display_name=name,
        display_name_mode="follow_agent" if follow_agent else None,
        session_id=session,
        actor_id=actor,
        role=role,
        participation_mode=mode,
        muted=muted,
    )
    return daemon.client.channels.put_member(channel_id, wanted)


@members("remove", show="{member_id} has left {channel_id}")
def remove_member(
    daemon: DaemonConnection,
    channel_id: ChannelId,
    member_id: Annotated[str, typer.Argument(metavar="MEMBER", help="The member's id.")],
) -> None:
    """Let a member go."""
    daemon.client.channels.remove_member(channel_id, member_id)


@messages("list", show=MESSAGE_COLUMNS, empty="Nothing was said here.")
def list_messages(
    daemon: DaemonConnection,
    channel_id: ChannelId,
    page: PageOptions,
    thread: Thread = None,
    query: Annotated[str | None, typer.Option(help="In the text, sender or file names.")] = None,
) -> object:
    """List the latest messages in order."""
    return daemon.client.channels.messages_page(
        channel_id, thread_root_message_id=thread, query=query, **page
    )


@commands("post", show=lambda message: print(message.message_id))
def post(
    daemon: DaemonConnection,
    channel_id: ChannelId,
    text: Text = None,
    file: TextFile = None,
    thread: Thread = None,
    reply_to: Annotated[
        str | None, typer.Option(metavar="MESSAGE", help="What it answers.")
    ] = None,
    to: Annotated[
        list[str] | None, typer.Option(metavar="MEMBER", help="Who it is for; repeatable.")
    ] = None,
    sender: Annotated[
        str | None, typer.Option("--as", metavar="USER", help="The person who says it.")
    ] = None,
    session: Annotated[
        str | None,
        typer.Option("--as-session", metavar="SESSION", help="The session that says it."),
    ] = None,
    key: Key = None,
) -> object:
    """Say something in a channel."""
    from understudy.wire.channels import PostChannelMessage

    wanted = inputs.request(
        PostChannelMessage,
        content=inputs.content(text, file),
        thread_root_message_id=thread,
        reply_to_message_id=reply_to,
        addressed_member_ids=to,
        sender_actor_id=sender,
        sender_session_id=session,
    )
    return daemon.client.channels.post(channel_id, wanted, key=key)


@commands("react", show="{emoji} on {message_id}")
def react(
    daemon: DaemonConnection,
    channel_id: ChannelId,
    message_id: ChannelMessageId,
    emoji: Annotated[str, typer.Argument(metavar="EMOJI", help="For example 👍 or :+1:.")],
    remove: Annotated[bool, typer.Option(help="Take it back.")] = False,
) -> None:
    """React to a message, or take a reaction back."""
    if remove:
        daemon.client.channels.unreact(channel_id, message_id, emoji)
    else:
        daemon.client.channels.react(channel_id, message_id, emoji)


@commands("leases")
def leases(daemon: DaemonConnection, channel_id: ChannelId, page: PageOptions) -> None:
    """List who speaks in which thread, why, and who is next."""
    found = daemon.client.channels.leases_page(channel_id, **page)
    daemon.show_answer(found, LEASE_COLUMNS, "Nobody has the floor.")
    if not found.items and not daemon.as_json:
        _tell_silent(daemon.client.channels.next_speakers(channel_id))


def _tell_silent(view: "Arbitration") -> None:
    """Who had a turn for the last message of a person and published nothing, and why."""
    from understudy.i18n.catalogue import say

    turns: dict[str, list[SilentTurn]] = {}
    for each in view.silent:
        turns.setdefault(each.outcome, []).append(each)
    for outcome, silent in turns.items():
        names = " and ".join(each.session_id for each in silent)
        runs = ", ".join(each.run_id or "" for each in silent)
        note(f"{names} {say('en', f'console.channel.silent_{outcome}')} ({runs})")
        note(say("en", "console.channel.silent_why"))


def _tell_speakers(view: Any) -> None:
    rows = [
        (str(at), each.display_name, ", ".join(each.reasons))
        for at, each in enumerate(view.speakers, start=1)
    ]
    rows += [("-", each.display_name, ", ".join(each.reasons)) for each in view.passed_over]
    screen.table(("turn", "member", "why"), rows, empty="No agent is in this channel.")
    _tell_silent(view)


declare(
    commands,
    Verb(
        names="list",
        call="channels.page",
        show=COLUMNS,
        empty="No channels yet. `{understudy} channels create ID --title TITLE` makes one.",
    ),
    Verb(names="show get", call="channels.get", show=RECORD),
    Verb(names="delete", call="channels.delete", show="channel {channel_id} is deleted"),
    Verb(
        names="next",
        call="channels.next_speakers",
        show=_tell_speakers,
        options={"thread_root_message_id": "thread"},
    ),
)
