"""Request bodies of mailboxes."""

from understudy.wire.base import JsonObject, RequestBody


class PostMessage(RequestBody):
    """A message to exactly one session or agent."""

    session_id: str | None = None
    agent_id: str | None = None
    content: str
    subject: str | None = None
    metadata: JsonObject | None = None
