"""Mailboxes of sessions and agents."""

from collections.abc import Sequence
from typing import Annotated, Final

from fastapi import APIRouter, Path, Query

from understudy.api.bodies import record_of
from understudy.api.gate import GatedRoute
from understudy.api.operations import operator, viewer
from understudy.api.paging import Paging
from understudy.api.services import AgentId, Caller, Services, SessionId
from understudy.core.page import Page, PageRequest
from understudy.mailboxes.model import Message, MessageStatus, NewMessage
from understudy.mailboxes.service import Mailbox
from understudy.wire.mailboxes import PostMessage

router = APIRouter(tags=["mailboxes"], route_class=GatedRoute)
MessageId = Annotated[str, Path(description="id of the message")]
Statuses = Annotated[list[MessageStatus] | None, Query(description="one or more")]
OF_SESSION: Final = "/v1/mailboxes/{session_id}"
OF_AGENT: Final = "/v1/agents/{agent_id}/mailbox"
DEAD: Final = (MessageStatus.DEAD,)


@router.post("/v1/mailboxes", operation_id="mailboxes.post", status_code=202)
@operator(body_id="session_id")
def post(body: PostMessage, services: Services, caller: Caller) -> Message:
    """Send a message to a session or an agent; a run of the receiver reads it."""
    return services.mailboxes.post(caller, record_of(NewMessage, body))


@router.get(OF_SESSION, operation_id="mailboxes.list")
@viewer()
def list_messages(
    session_id: SessionId, services: Services, page: Paging, status: Statuses = None
) -> Page[Message]:
    """List the messages for a session, newest first; reading changes nothing."""
    return _listed(services, Mailbox(session_id=session_id), page, status or ())


@router.get(OF_SESSION + "/dead-letter", operation_id="mailboxes.dead_letters")
@viewer()
def dead_letters(session_id: SessionId, services: Services, page: Paging) -> Page[Message]:
    """List the messages for a session that were given up."""
    return _listed(services, Mailbox(session_id=session_id), page, DEAD)


@router.post(OF_SESSION + "/messages/{message_id}/ack", operation_id="mailboxes.ack")
@operator()
def ack(
    session_id: SessionId, message_id: MessageId, services: Services, caller: Caller
) -> Message:
    """Remove a message that waits or was given up."""
    return services.mailboxes.ack(caller, Mailbox(session_id=session_id), message_id)


@router.post(OF_SESSION + "/messages/{message_id}/retry", operation_id="mailboxes.retry")
@operator()
def retry(
    session_id: SessionId, message_id: MessageId, services: Services, caller: Caller
) -> Message:
    """Retry the delivery of a message that was given up."""
    return services.mailboxes.retry(caller, Mailbox(session_id=session_id), message_id)


@router.get(OF_AGENT, operation_id="mailboxes.list_of_agent")
@viewer()
def list_of_agent(
    agent_id: AgentId, services: Services, page: Paging, status: Statuses = None
) -> Page[Message]:
    """List the messages for an agent, newest first; reading changes nothing."""
    return _listed(services, Mailbox(agent_id=agent_id), page, status or ())


@router.get(OF_AGENT + "/dead-letter", operation_id="mailboxes.dead_letters_of_agent")
@viewer()
def dead_letters_of_agent(agent_id: AgentId, services: Services, page: Paging) -> Page[Message]:
    """List the messages for an agent that were given up."""
    return _listed(services, Mailbox(agent_id=agent_id), page, DEAD)


@router.post(OF_AGENT + "/{message_id}/ack", operation_id="mailboxes.ack_of_agent")
@operator(action="mailboxes.ack")
def ack_of_agent(
    agent_id: AgentId, message_id: MessageId, services: Services, caller: Caller
) -> Message:
    """Remove a message that waits or was given up."""
    return services.mailboxes.ack(caller, Mailbox(agent_id=agent_id), message_id)


@router.post(OF_AGENT + "/{message_id}/retry", operation_id="mailboxes.retry_of_agent")
@operator(action="mailboxes.retry")
def retry_of_agent(
    agent_id: AgentId, message_id: MessageId, services: Services, caller: Caller
) -> Message:
    """Retry the delivery of a message that was given up."""
    return services.mailboxes.retry(caller, Mailbox(agent_id=agent_id), message_id)


def _listed(
    services: Services, box: Mailbox, page: PageRequest, statuses: Sequence[MessageStatus]
) -> Page[Message]:
    return services.mailboxes.page(box, page, statuses=tuple(statuses))
