"""Channels: rooms, rosters, messages and reactions."""

import asyncio
from dataclasses import replace
from typing import Annotated, Any, Final

from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import StreamingResponse

from understudy.api.bodies import check_same_id, record_of
from understudy.api.gate import GatedRoute
from understudy.api.operations import operator, viewer
from understudy.api.paging import Paging
from understudy.api.routes.streams import EVENT_STREAM, Cursor
from understudy.api.services import Caller, Services
from understudy.api.sse import follow_channel, stream_response, wanted_position
from understudy.api.submissions import item_of
from understudy.channels.arbitration import Arbitration
from understudy.channels.model import (
    AutonomyPolicy,
    Channel,
    ChannelMember,
    ChannelMessage,
    ThreadWork,
    TurnLease,
)
from understudy.channels.posting import NewChannelMessage
from understudy.channels.stimulus_model import NewStimulus, Stimulus, StimulusStatus
from understudy.core.page import Page
from understudy.wire.base import Deleted
from understudy.wire.channels import (
    AutonomyPolicyBody,
    ChannelFields,
    CreateChannel,
    CreateStimulus,
    PostChannelMessage,
    PutChannelMember,
    React,
    UpdateChannel,
)

router = APIRouter(tags=["channels"], route_class=GatedRoute)
ChannelId = Annotated[str, Path(description="id of the channel")]
ChannelMessageId = Annotated[str, Path(description="id of the message")]
ONE: Final = "/v1/channels/{channel_id}"
MESSAGES: Final = ONE + "/messages"
REACTIONS: Final = MESSAGES + "/{message_id}/reactions"


@router.post("/v1/channels", operation_id="channels.create", status_code=201)
@operator(body_id="channel_id")
def create(body: CreateChannel, services: Services, caller: Caller) -> Channel:
    """Create a channel, with members if some are given."""
    members = tuple(_member(member) for member in body.members)
    fields = _fields(body, AutonomyPolicy())
    return services.channels.service.create(
        caller, body.channel_id, body.title, members=members, **fields
    )


@router.get("/v1/channels", operation_id="channels.list")
@viewer()
def list_channels(
    services: Services,
    page: Paging,
    query: Annotated[
        str | None, Query(description="in the id, title, description or purpose")
    ] = None,
) -> Page[Channel]:
    """List channels by id."""
    return services.channels.service.page(page, query=query)


@router.get(ONE, operation_id="channels.get")
@viewer()
def get(channel_id: ChannelId, services: Services) -> Channel:
    """Show a channel with its members."""
    return services.channels.service.get(channel_id)


@router.put(ONE, operation_id="channels.update")
@operator()
def update(
    channel_id: ChannelId, body: UpdateChannel, services: Services, caller: Caller
) -> Channel:
    """Change a channel; what is left out keeps its value."""
    check_same_id("channel_id", body.channel_id, channel_id)
    fields = _fields(body, services.channels.service.get(channel_id).autonomy_policy)
    if body.title is not None:
        fields["title"] = body.title
    return services.channels.service.update(caller, channel_id, **fields)


@router.delete(ONE, operation_id="channels.delete")
@operator()
def delete(channel_id: ChannelId, services: Services, caller: Caller) -> Deleted:
    """Delete a channel with its log, reactions, leases and stimuli."""
    services.channels.service.delete(caller, channel_id)
    return Deleted()


@router.get(ONE + "/members", operation_id="channels.members")
@viewer()
def members(channel_id: ChannelId, services: Services, page: Paging) -> Page[ChannelMember]:
    """List the members of a channel, in the order of joining."""
    return Page.cut(services.channels.service.get(channel_id).members, page)


@router.post(ONE + "/members", operation_id="channels.put_member")
@operator()
def put_member(
    channel_id: ChannelId, body: PutChannelMember, services: Services, caller: Caller
) -> Channel:
    """Add a person or a session to a channel, or change how they take part."""
    return services.channels.service.put_member(caller, channel_id, _member(body))


@router.delete(ONE + "/members/{member_id}", operation_id="channels.remove_member")
@operator()
def remove_member(
    channel_id: ChannelId, member_id: str, services: Services, caller: Caller
) -> Channel:
    """Remove a member; what its run still says is not published."""
    return services.channels.service.remove_member(caller, channel_id, member_id)


@router.get(MESSAGES, operation_id="channels.messages")
@viewer()
def messages(
    channel_id: ChannelId,
    services: Services,
    page: Paging,
    thread_root_message_id: Annotated[
        str | None, Query(description="only the thread of this message")
    ] = None,
    query: Annotated[
        str | None, Query(description="in the text, the sender or the names of files")
    ] = None,
) -> Page[ChannelMessage]:
    """Show the latest messages in order; `next_cursor` leads to the ones before."""
    return services.channels.service.messages(
        channel_id, page, root_id=thread_root_message_id, query=query
    )


@router.post(MESSAGES, operation_id="channels.post", status_code=201)
@operator()
def post(
    channel_id: ChannelId, body: PostChannelMessage, services: Services, caller: Caller
) -> ChannelMessage:
    """Post a message; one of a person makes an agent answer."""
    items = tuple(
        item_of(item, f"/input_items/{index}") for index, item in enumerate(body.input_items)
    )
    wanted = record_of(NewChannelMessage, body, input_items=())
    return services.channels.service.post(caller, channel_id, replace(wanted, input_items=items))


@router.post(REACTIONS, operation_id="channels.react")
@operator()
def react(
    channel_id: ChannelId,
    message_id: ChannelMessageId,
    body: React,
    services: Services,
    caller: Caller,
) -> ChannelMessage:
    """React to a message; again it changes nothing."""
    return services.channels.service.react(
        caller, channel_id, message_id, body.emoji, actor_id=body.actor_id
    )


@router.delete(REACTIONS, operation_id="channels.unreact")
@operator()
def unreact(
    channel_id: ChannelId,
    message_id: ChannelMessageId,
    services: Services,
    caller: Caller,
    emoji: Annotated[str | None, Query(description="which one; or in the body")] = None,
    body: React | None = None,
) -> ChannelMessage:
    """Remove a reaction; again it changes nothing."""
    actor_id = None if body is None else body.actor_id
    given = emoji if body is None else body.emoji
    return services.channels.service.react(
        caller, channel_id, message_id, given or "", actor_id=actor_id, is_set=False
    )


@router.get(ONE + "/leases", operation_id="channels.leases")
@viewer()
def leases(channel_id: ChannelId, services: Services, page: Paging) -> Page[TurnLease]:
    """List the turn leases, thread by thread, and who is queued."""
    return Page.cut(services.channels.service.leases(channel_id), page)


@router.get(ONE + "/next-speakers", operation_id="channels.next_speakers")
@viewer()
def next_speakers(
    channel_id: ChannelId,
    services: Services,
    thread_root_message_id: Annotated[
        str | None, Query(description="the thread; the whole channel if left out")
    ] = None,
) -> Arbitration:
    """Show who would answer the last message of a person, in order, who would not, and why."""
    return services.channels.service.next_speakers(channel_id, thread_root_message_id)


@router.get(ONE + "/stimuli", operation_id="channels.stimuli")
@viewer()
def stimuli(
    channel_id: ChannelId,
    services: Services,
    page: Paging,
    status: Annotated[StimulusStatus | None, Query(description="only those")] = None,
) -> Page[Stimulus]:
    """List stimuli and their status, newest first."""
    return services.channels.stimuli.page(channel_id, page, status=status)


@router.post(ONE + "/stimuli", operation_id="channels.create_stimulus", status_code=201)
@operator()
def create_stimulus(
    channel_id: ChannelId, body: CreateStimulus, services: Services, caller: Caller
) -> Stimulus:
    """Post a text at its time, within the channel's policy."""
    return services.channels.stimuli.create(caller, channel_id, record_of(NewStimulus, body))


@router.get(
    ONE + "/stream",
    operation_id="channels.stream",
    response_class=StreamingResponse,
    responses=EVENT_STREAM,
)
@viewer()
async def stream(
    channel_id: ChannelId, services: Services, request: Request, cursor: Cursor = None
) -> StreamingResponse:
    """Stream the events of a channel from now on, or after the cursor."""
    position = wanted_position(request, cursor)
    channel = await asyncio.to_thread(services.channels.service.get, channel_id)
    after = channel.sequence if position is None else position.offset
    return stream_response(follow_channel(services, channel_id, after))


@router.get(ONE + "/thread-work", operation_id="channels.thread_work")
@viewer()
def thread_work(channel_id: ChannelId, services: Services, page: Paging) -> Page[ThreadWork]:
    """List the work in each thread, newest first."""
    return services.channels.service.threads(channel_id, page)


def _member(body: PutChannelMember) -> ChannelMember:
    return record_of(ChannelMember, body, display_name=body.display_name or body.member_id)


def _fields(body: ChannelFields, policy: AutonomyPolicy) -> dict[str, Any]:
    """The fields that were set; those of a policy replace the current ones."""
    names = set(ChannelFields.model_fields) - {"autonomy_policy"}
    fields = body.model_dump(include=names, exclude_none=True)
    if body.autonomy_policy is not None:
        given: AutonomyPolicyBody = body.autonomy_policy
        fields["autonomy_policy"] = replace(policy, **given.model_dump(exclude_none=True))
    return fields
