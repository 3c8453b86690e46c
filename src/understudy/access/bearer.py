"""Who a caller says to be, in the headers of a request."""

from typing import Final

from understudy.core.errors import Unauthenticated

# The user for whom an admin acts.
ACT_FOR: Final = "X-Understudy-User-Id"


def bearer_token(header: str | None) -> str | None:
    """The token of an `Authorization` header; anything but a bearer token is refused."""
    if header is None:
        return None
    scheme, _, token = header.strip().partition(" ")
    if scheme.lower() != "bearer" or not token.strip():
        raise Unauthenticated(
            "unauthorized", domain="auth", detail="Authorization must be: Bearer <token>"
        )
    return token.strip()
