"""Request bodies of tokens and keys."""

from typing import Final

from pydantic import Field

from understudy.core.principal import Role
from understudy.wire.base import Lax, RequestBody

MAX_PEM_CHARS: Final = 4000


class CreateKey(RequestBody):
    """A new key of this daemon; the name is that of its signer."""

    name: str
    """The name of the key's signer."""


class TrustKey(CreateKey):
    """A public key of somebody else, in PEM."""

    public_key: str = Field(max_length=MAX_PEM_CHARS)
    """The public key in PEM."""


class CreateToken(RequestBody):
    """The user and role of a new token."""

    user_id: str
    """The user that the token stands for."""
    role: Lax[Role]
    """The rights of the token."""
    locale: str | None = Field(default=None, max_length=64)
    """The language of the user where a request names none: `en`, `vi` or `zh`."""
