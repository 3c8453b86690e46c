"""Calls about which tool calls may run."""

from collections.abc import Sequence
from typing import Any

from understudy.client.calls import at, delete, get, given, put
from understudy.client.groups.resource import Resource
from understudy.wire.permissions import (
    PermissionRule,
    PermissionsView,
    SessionPermissionsView,
)

_of_session = SessionPermissionsView.model_validate


class Permissions(Resource):
    """The rules of the daemon and of sessions."""

    def get(self) -> PermissionsView:
        """The rules that hold for every agent."""
        return self.transport.send(get(at("permissions"), PermissionsView.model_validate))

    def set(
        self, rules: Sequence[PermissionRule], *, expected_revision: int | None = None
    ) -> PermissionsView:
        """Replace the rules that hold for every agent."""
        fields = {**_body(rules), **given(expected_revision=expected_revision)}
        return self.transport.send(put(at("permissions"), PermissionsView.model_validate, fields))

    def of_session(self, session_id: str) -> SessionPermissionsView:
        """The rules of a session."""
        return self.transport.send(get(_path(session_id), _of_session))

    def set_of_session(
        self, session_id: str, rules: Sequence[PermissionRule]
    ) -> SessionPermissionsView:
        """Replace the rules of a session."""
        return self.transport.send(put(_path(session_id), _of_session, _body(rules)))

    def clear_of_session(self, session_id: str) -> SessionPermissionsView:
        """Drop the session's own rules."""
        return self.transport.send(delete(_path(session_id), _of_session))


def _path(session_id: str) -> str:
    return at("sessions", session_id, "permissions")


def _body(rules: Sequence[PermissionRule]) -> dict[str, Any]:
    return {"rules": [rule.model_dump(exclude_none=True) for rule in rules]}
