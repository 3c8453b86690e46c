"""Calls about routes, runtime settings, tools and the daemon itself."""

from collections.abc import Iterator, Mapping
from typing import Any

from understudy.client.calls import at, get, given, post, put
from understudy.client.groups.resource import Resource, body, every
from understudy.wire.base import Items
from understudy.wire.permissions import SessionToolView, VerdictView
from understudy.wire.runtime import (
    ChangeRuntime,
    RevisionView,
    RouteView,
    RuntimeView,
    StatusView,
    ToolView,
)

_view = RuntimeView.model_validate


class Routes(Resource):
    """Where model calls can go."""

    def page(self, *, limit: int | None = None, cursor: str | None = None) -> Items[RouteView]:
        """Some routes."""
        read = Items[RouteView].model_validate
        return self.transport.send(get(at("routes"), read, **given(limit=limit, cursor=cursor)))

    def list(self) -> Iterator[RouteView]:
        """All routes."""
        return every(lambda cursor: self.page(cursor=cursor))

    def set_default(self, route_id: str) -> RuntimeView:
        """Send future runs without a route of their own here."""
        return self.transport.send(post(at("runtime"), _view, {"default_route": route_id}))


class Runtime(Resource):
    """Settings that change while the daemon runs, with revisions."""

    def get(self) -> RuntimeView:
        """The settings in force."""
        return self.transport.send(get(at("runtime"), _view))

    def change(self, changes: ChangeRuntime) -> RuntimeView:
        """Change the given settings."""
        return self.transport.send(post(at("runtime"), _view, body(changes)))

    def revisions(self) -> Items[RevisionView]:
        """The kept revisions, newest first."""
        read = Items[RevisionView].model_validate
        return self.transport.send(get(at("runtime", "revisions"), read))

    def roll_back(
        self, target_revision: int | None = None, *, expected_revision: int | None = None
    ) -> RuntimeView:
        """Bring an earlier revision back; the one before when none is named."""
        fields = given(target_revision=target_revision, expected_revision=expected_revision)
        return self.transport.send(post(at("runtime", "rollback"), _view, fields))


class Tools(Resource):
    """What agents can do."""

    def page(self, *, limit: int | None = None, cursor: str | None = None) -> Items[ToolView]:
        """Some tools."""
        read = Items[ToolView].model_validate
        return self.transport.send(get(at("tools"), read, **given(limit=limit, cursor=cursor)))

    def list(self) -> Iterator[ToolView]:
        """All tools."""
        return every(lambda cursor: self.page(cursor=cursor))

    def set(self, name: str, *, enabled: bool) -> ToolView:
        """Let agents use a tool, or not."""
        read = ToolView.model_validate
        return self.transport.send(put(at("tools", name), read, {"enabled": enabled}))

    def in_session(
        self, session_id: str, *, limit: int | None = None, cursor: str | None = None
    ) -> Items[SessionToolView]:
        """Some tools as a session has them: what is gated, and why."""
        read = Items[SessionToolView].model_validate
        query = given(limit=limit, cursor=cursor)
        return self.transport.send(get(at("sessions", session_id, "tools"), read, **query))

    def check(
        self,
        tool: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        session_id: str | None = None,
        agent_id: str | None = None,
    ) -> VerdictView:
        """What would become of a call; nothing is run."""
        fields = {
            "tool": tool,
            "arguments": dict(arguments or {}),
            **given(session_id=session_id, agent_id=agent_id),
        }
        return self.transport.send(post(at("tools", "check"), VerdictView.model_validate, fields))


class Daemon(Resource):
    """The daemon itself."""

    def status(self) -> StatusView:
        """What the daemon is and does."""
        return self.transport.send(get(at("status"), StatusView.model_validate))

    def is_ready(self) -> bool:
        """Whether the daemon takes work: not while it starts or drains."""
        return self.transport.probe("/readyz")
