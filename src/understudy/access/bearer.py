"""Who a caller says to be, in the headers of a request."""

from typing import Final

from understudy.core.errors import coded_error

# The user for whom an admin acts.
ACT_FOR: Final = "X-Understudy-User-Id"


def bearer_token(header: str | None) -> str | None:
    """The token of an `Authorization` header; anything but a bearer token is refused."""
    if header is None:
        return None
    scheme, _, token = header.strip().partition(" ")
    if scheme.lower() != "bearer" or not token.strip():
        raise coded_error("auth/unauthorized:malformed")
    return token.strip()
