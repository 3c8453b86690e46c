"""Calls about tokens and the audit."""

from collections.abc import Iterator

from understudy.client.calls import at, delete, get, given, post
from understudy.client.groups.resource import Resource, every
from understudy.wire.access import AuditEntryView, TokenCreated, TokenView
from understudy.wire.base import Deleted, Items, RoleName


class Tokens(Resource):
    """Who may call."""

    def create(
        self,
        user_id: str,
        role: RoleName,
        *,
        locale: str | None = None,
        key: str | None = None,
    ) -> TokenCreated:
        """A new token; its secret is in this answer and nowhere else."""
        fields = {"user_id": user_id, "role": role, **given(locale=locale)}
        return self.transport.send(post(at("tokens"), TokenCreated.model_validate, fields, key=key))

    def page(self, *, limit: int | None = None, cursor: str | None = None) -> Items[TokenView]:
        """Some tokens, without their secrets."""
        read = Items[TokenView].model_validate
        return self.transport.send(get(at("tokens"), read, **given(limit=limit, cursor=cursor)))

    def list(self) -> Iterator[TokenView]:
        """All tokens, without their secrets."""
        return every(lambda cursor: self.page(cursor=cursor))

    def delete(self, token_id: str) -> Deleted:
        """Refuse calls with this token from now on."""
        return self.transport.send(delete(at("tokens", token_id), Deleted.model_validate))


class Audit(Resource):
    """Who did what, and who was told no."""

    def page(
        self,
        *,
        resource: str | None = None,
        actor: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Items[AuditEntryView]:
        """Some entries, newest first."""
        read = Items[AuditEntryView].model_validate
        query = given(resource=resource, actor=actor, limit=limit, cursor=cursor)
        return self.transport.send(get(at("audit"), read, **query))

    def list(
        self, *, resource: str | None = None, actor: str | None = None
    ) -> Iterator[AuditEntryView]:
        """All entries, newest first."""
        return every(lambda cursor: self.page(resource=resource, actor=actor, cursor=cursor))
