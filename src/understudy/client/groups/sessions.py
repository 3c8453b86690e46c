"""Calls about sessions."""

from collections.abc import Iterator, Mapping, Sequence

from understudy.client.calls import at, delete, get, given, post, put
from understudy.client.groups.resource import Resource, body, every
from understudy.client.streams import StreamEvent, follow
from understudy.wire.base import Items
from understudy.wire.events import JournalEventView
from understudy.wire.replies import ReplyTarget
from understudy.wire.runs import SubmitInput
from understudy.wire.sessions import (
    CreateSession,
    InterruptView,
    ReplyTargetsView,
    RoutePolicy,
    SessionEventsView,
    SessionView,
    SetReplyTargets,
    SetRoutePolicy,
)
from understudy.wire.sidechains import SidechainView

_view = SessionView.model_validate
ScopeLists = Mapping[str, Sequence[str]]


class Sessions(Resource):
    """Durable conversations."""

    def create(self, wanted: CreateSession | None = None, *, key: str | None = None) -> SessionView:
        """Create a session, or reuse the one with that id."""
        fields = body(wanted) if wanted else {}
        return self.transport.send(post(at("sessions"), _view, fields, key=key))

    def get(self, session_id: str) -> SessionView:
        """One session."""
        return self.transport.send(get(at("sessions", session_id), _view))

    def page(
        self,
        *,
        persona_id: str | None = None,
        status: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Items[SessionView]:
        """Some sessions, newest first."""
        read = Items[SessionView].model_validate
        query = given(persona_id=persona_id, status=status, limit=limit, cursor=cursor)
        return self.transport.send(get(at("sessions"), read, **query))

    def list(
        self, *, persona_id: str | None = None, status: str | None = None
    ) -> Iterator[SessionView]:
        """All sessions, newest first."""
        return every(lambda cursor: self.page(persona_id=persona_id, status=status, cursor=cursor))

    def input(
        self, session_id: str, wanted: str | SubmitInput, *, key: str | None = None
    ) -> SessionView:
        """Run an input at once and answer when it has ended; refused while the session is busy."""
        fields = body(submission(wanted))
        return self.transport.send(
            post(at("sessions", session_id, "input"), _view, fields, key=key)
        )

    def interrupt(self, session_id: str) -> InterruptView:
        """Stop the run that is going on."""
        read = InterruptView.model_validate
        return self.transport.send(post(at("sessions", session_id, "interrupt"), read))

    def end(self, session_id: str, reason: str | None = None) -> SessionView:
        """Close the session to new runs."""
        fields = given(reason=reason)
        return self.transport.send(post(at("sessions", session_id, "end"), _view, fields))

    def set_persona(self, session_id: str, persona_id: str) -> SessionView:
        """Copy a persona into the session."""
        fields = {"persona_id": persona_id}
        return self._set(session_id, "persona", fields)

    def clear_persona(self, session_id: str) -> SessionView:
        """Take the persona off the session."""
        return self._clear(session_id, "persona")

    def set_capability_scope(self, session_id: str, scope: ScopeLists) -> SessionView:
        """Set what the session may see."""
        return self._set(session_id, "capability-scope", {"capability_scope": scope})

    def clear_capability_scope(self, session_id: str) -> SessionView:
        """Let the session see what its persona may."""
        return self._clear(session_id, "capability-scope")

    def set_credential_scope(self, session_id: str, scope: ScopeLists) -> SessionView:
        """Set which credentials the session may use."""
        return self._set(session_id, "credential-scope", {"credential_scope": scope})

    def clear_credential_scope(self, session_id: str) -> SessionView:
        """Take the session's own credential scope away."""
        return self._clear(session_id, "credential-scope")

    def set_route(self, session_id: str, policy: RoutePolicy) -> SessionView:
        """Set the route of future runs."""
        return self._set(session_id, "route-policy", body(SetRoutePolicy(route_policy=policy)))

    def clear_route(self, session_id: str) -> SessionView:
        """Let future runs take the daemon's default route."""
        return self._clear(session_id, "route-policy")

    def reply_targets(self, session_id: str) -> ReplyTargetsView:
        """Where the outputs of future runs go."""
        read = ReplyTargetsView.model_validate
        return self.transport.send(get(at("sessions", session_id, "reply-targets"), read))

    def set_reply_targets(self, session_id: str, targets: Sequence[ReplyTarget]) -> SessionView:
        """Set where the outputs of future runs go."""
        return self._set(
            session_id, "reply-targets", body(SetReplyTargets(reply_targets=[*targets]))
        )

    def clear_reply_targets(self, session_id: str) -> SessionView:
        """Deliver the outputs of future runs nowhere."""
        return self._clear(session_id, "reply-targets")

    def sidechains_page(
        self, session_id: str, *, limit: int | None = None, cursor: str | None = None
    ) -> Items[SidechainView]:
        """Some child sessions, oldest first."""
        read = Items[SidechainView].model_validate
        query = given(limit=limit, cursor=cursor)
        return self.transport.send(get(at("sessions", session_id, "sidechains"), read, **query))

    def sidechains(self, session_id: str) -> Iterator[SidechainView]:
        """All child sessions, oldest first."""
        return every(lambda cursor: self.sidechains_page(session_id, cursor=cursor))

    def events_page(
        self, session_id: str, *, limit: int | None = None, cursor: str | None = None
    ) -> SessionEventsView:
        """Some events of the journal, oldest first."""
        query = given(limit=limit, cursor=cursor)
        read = SessionEventsView.model_validate
        return self.transport.send(get(at("sessions", session_id, "events"), read, **query))

    def events(self, session_id: str) -> Iterator[JournalEventView]:
        """The whole journal, oldest first."""

        def page(cursor: str | None) -> Items[JournalEventView]:
            current = self.events_page(session_id, cursor=cursor)
            return Items(items=current.items, next_cursor=current.next_cursor)

        return every(page)

    def stream(self, session_id: str, *, last_event_id: str | None = None) -> Iterator[StreamEvent]:
        """What happens in the session from now on, or from after an event; never ends."""
        path = at("sessions", session_id, "stream")
        return follow(
            lambda last: self.transport.open_stream(path, last_event_id=last),
            last_event_id=last_event_id,
            sleep=self.transport.retries.sleep,
        )

    def _set(self, session_id: str, part: str, fields: Mapping[str, object]) -> SessionView:
        return self.transport.send(put(at("sessions", session_id, part), _view, fields))

    def _clear(self, session_id: str, part: str) -> SessionView:
        return self.transport.send(delete(at("sessions", session_id, part), _view))


def submission(wanted: str | SubmitInput) -> SubmitInput:
    """A plain text is short for an input with that content."""
    return SubmitInput(content=wanted) if isinstance(wanted, str) else wanted
