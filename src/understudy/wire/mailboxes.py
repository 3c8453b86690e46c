"""What callers send to mailboxes."""

from understudy.wire.base import JsonObject, RequestBody


class PostMessage(RequestBody):
    """A message to a session or to an agent, to one of them."""

    session_id: str | None = None
    agent_id: str | None = None
    content: str
    subject: str | None = None
    metadata: JsonObject | None = None
