"""Request bodies of tokens and keys."""

from typing import Final

from pydantic import Field

from understudy.core.principal import Role
from understudy.wire.base import Lax, RequestBody

MAX_PEM_CHARS: Final = 4000


class CreateKey(RequestBody):
    """A new key of this daemon; the name is that of its signer."""

    name: str


class TrustKey(CreateKey):
    """A public key of somebody else, in PEM."""

    public_key: str = Field(max_length=MAX_PEM_CHARS)


class CreateToken(RequestBody):
    """The user and role of a new token."""

    user_id: str
    role: Lax[Role]
    # `en`, `vi` or `zh`: the language of its user, where a request names none.
    locale: str | None = Field(default=None, max_length=64)
