"""Calls about mailboxes."""

from understudy.client.calls import at, get, given, post
from understudy.client.groups.resource import Resource, body
from understudy.wire.base import Items
from understudy.wire.mailboxes import MessageView, PostMessage

_view = MessageView.model_validate


class Mailboxes(Resource):
    """Messages for sessions and agents; name one of the two."""

    def send(self, message: PostMessage, *, key: str | None = None) -> MessageView:
        """Send a message; a run of the receiver reads it."""
        return self.transport.send(post(at("mailboxes"), _view, body(message), key=key))

    def page(
        self,
        *,
        session_id: str | None = None,
        agent_id: str | None = None,
        status: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Items[MessageView]:
        """The messages in a mailbox, newest first."""
        read = Items[MessageView].model_validate
        query = given(status=status, limit=limit, cursor=cursor)
        return self.transport.send(get(_box(session_id, agent_id), read, **query))

    def dead_letters(
        self,
        *,
        session_id: str | None = None,
        agent_id: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Items[MessageView]:
        """The messages that were given up."""
        path = _box(session_id, agent_id) + "/dead-letter"
        read = Items[MessageView].model_validate
        return self.transport.send(get(path, read, **given(limit=limit, cursor=cursor)))

    def ack(
        self, message_id: str, *, session_id: str | None = None, agent_id: str | None = None
    ) -> MessageView:
        """Take a message out that waits or was given up."""
        return self._act(message_id, "ack", session_id, agent_id)

    def retry(
        self, message_id: str, *, session_id: str | None = None, agent_id: str | None = None
    ) -> MessageView:
        """Have a message that was given up delivered again."""
        return self._act(message_id, "retry", session_id, agent_id)

    def _act(
        self, message_id: str, verb: str, session_id: str | None, agent_id: str | None
    ) -> MessageView:
        if agent_id is not None:
            path = at("agents", agent_id, "mailbox", message_id, verb)
        else:
            path = at("mailboxes", session_id or "", "messages", message_id, verb)
        return self.transport.send(post(path, _view))


def _box(session_id: str | None, agent_id: str | None) -> str:
    if agent_id is not None:
        return at("agents", agent_id, "mailbox")
    return at("mailboxes", session_id or "")
