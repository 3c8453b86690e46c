"""Tokens and the audit on the wire."""

from typing import Literal

from pydantic import Field

from understudy.wire.base import Omitted, Request, RoleName, View


class CreateToken(Request):
    """Who the token stands for, and what it may do."""

    user_id: str
    role: RoleName
    # `en`, `vi` or `zh`: what its user reads, where a request does not say.
    locale: str | None = Field(default=None, max_length=64)


class TokenView(View):
    """A token, without its secret."""

    token_id: str
    user_id: str
    role: RoleName
    created_at_ms: int
    locale: Omitted[str] = None


class TokenCreated(TokenView):
    """A new token. The secret is shown once: a repeat under the same idempotency key lacks it."""

    token: Omitted[str] = None


class AuditEntryView(View):
    """One attempt to change something."""

    at_ms: int
    actor: str
    action: str
    resource: str
    resource_id: str
    outcome: Literal["done", "refused"]
    request_id: str
    version: Omitted[int] = None
    reason: Omitted[str] = None
