"""Limits of a connection: sizes, queue and timeouts."""

from dataclasses import dataclass
from typing import Final

MAX_FRAME_BYTES: Final = 512 * 1024
PING_S: Final = 30.0
# A client that has not answered a ping by then has said nothing for 60 s.
PONG_S: Final = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The limits of a connection."""

    connections: int = 500
    # Connections that are not authenticated yet, and how long they may stay so.
    unauthenticated: int = 50
    auth_timeout_s: float = 10.0
    # Connections of one user.
    per_user: int = 50
    # How long a frame may wait for a client to take it, or to find room in the queue.
    write_timeout_s: float = 10.0
    # Frames that wait for a client.
    queue: int = 256
    # Events whose visibility is not decided yet, shared by all connections.
    backlog: int = 4096
    # Requests before authentication: how many, and the size of each.
    attempts: int = 10
    first_frame_chars: int = 16 * 1024


LIMITS: Final = Limits()
