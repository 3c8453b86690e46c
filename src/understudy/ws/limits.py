"""Limits of a connection: sizes, queue and timeouts."""

from dataclasses import dataclass
from typing import Final

MAX_FRAME_BYTES: Final = 512 * 1024
PING_S: Final = 30.0
# The timeout of a pong: by then, a client has been silent for 60 s.
PONG_S: Final = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The limits of a connection."""

    connections: int = 500
    # The most unauthenticated connections, and the timeout for authentication.
    unauthenticated: int = 50
    auth_timeout_s: float = 10.0
    # The most connections of one user.
    per_user: int = 50
    # The timeout for a client to read a frame, or for room in the queue.
    write_timeout_s: float = 10.0
    # The most frames queued for a client.
    queue: int = 256
    # The most undelivered skill events of a connection.
    backlog: int = 4096
    # Requests before authentication: the most, and the size of each.
    attempts: int = 10
    first_frame_chars: int = 16 * 1024


LIMITS: Final = Limits()
