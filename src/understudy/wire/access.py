"""What callers send about tokens."""

from pydantic import Field

from understudy.core.principal import Role
from understudy.wire.base import Lax, RequestBody


class CreateToken(RequestBody):
    """Who the token stands for, and what it may do."""

    user_id: str
    role: Lax[Role]
    # `en`, `vi` or `zh`: what its user reads, where a request does not say.
    locale: str | None = Field(default=None, max_length=64)
