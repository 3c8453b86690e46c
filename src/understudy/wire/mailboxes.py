"""Mailboxes on the wire."""

from typing import Literal, TypeAlias

from understudy.wire.base import JsonObject, Omitted, Request, View

MessageStatus: TypeAlias = Literal["pending", "delivering", "acked", "dead"]


class PostMessage(Request):
    """A message to a session or to an agent, to one of them."""

    session_id: str | None = None
    agent_id: str | None = None
    content: str
    subject: str | None = None
    metadata: JsonObject | None = None


class SenderView(View):
    """Who sent a message: a user, or a run for a user."""

    type: Literal["user", "run"]
    user_id: str
    run_id: Omitted[str] = None
    session_id: Omitted[str] = None
    agent_id: Omitted[str] = None


class MessageView(View):
    """A message; `session_id` is where it is delivered, also when it is for an agent."""

    message_id: str
    session_id: str
    to_session_id: Omitted[str] = None
    to_agent_id: Omitted[str] = None
    sender: SenderView
    subject: Omitted[str] = None
    content: str
    metadata: Omitted[JsonObject] = None
    status: MessageStatus
    hops: int
    attempts: int
    run_ids: list[str]
    next_attempt_at_ms: Omitted[int] = None
    reason: Omitted[str] = None
    created_at_ms: int
    updated_at_ms: int
    actions: list[str]
