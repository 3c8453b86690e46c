"""Request bodies of mailboxes."""

from understudy.wire.base import JsonObject, RequestBody


class PostMessage(RequestBody):
    """A message to exactly one session or agent."""

    session_id: str | None = None
    """The session that gets it."""
    agent_id: str | None = None
    """The agent that gets it, instead of a session."""
    content: str
    """The text of the message."""
    subject: str | None = None
    """The subject line."""
    metadata: JsonObject | None = None
    """Data of the caller, stored with the message."""
