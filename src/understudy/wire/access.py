"""What callers send about tokens and keys."""

from typing import Final

from pydantic import Field

from understudy.core.principal import Role
from understudy.wire.base import Lax, RequestBody

MAX_PEM_CHARS: Final = 4000


class CreateKey(RequestBody):
    """A new key of this daemon; the name says who signs with it."""

    name: str


class TrustKey(CreateKey):
    """A public key of somebody else, in PEM."""

    public_key: str = Field(max_length=MAX_PEM_CHARS)


class CreateToken(RequestBody):
    """Who the token stands for, and what it may do."""

    user_id: str
    role: Lax[Role]
    # `en`, `vi` or `zh`: what its user reads, where a request does not say.
    locale: str | None = Field(default=None, max_length=64)
