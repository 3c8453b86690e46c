"""Connection quota: the number of open connections in total, unauthenticated, and per user."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

from understudy.core.errors import coded_error
from understudy.ws.limits import Limits


class ConnectionQuota:
    """Counts open connections; unauthenticated ones take no slot of authenticated users."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._lock = Lock()
        self._unauthenticated = 0
        self._users: Counter[str] = Counter()

    @contextmanager
    def enter(self) -> Iterator["QuotaSlot"]:
        """Take a slot for an unauthenticated caller; `Unavailable` if none is free."""
        with self._lock:
            is_full = self._unauthenticated + self._users.total() >= self._limits.connections
            if is_full or self._unauthenticated >= self._limits.unauthenticated:
                raise coded_error("ws/too_many_connections")
            self._unauthenticated += 1
        slot = QuotaSlot(self)
        try:
            yield slot
        finally:
            self._leave(slot)

    def introduce(self, slot: "QuotaSlot", user_id: str) -> None:
        """Move a slot to a user; `LimitExceeded` over the user's limit."""
        with self._lock:
            if self._users[user_id] >= self._limits.per_user:
                raise coded_error("ws/too_many_connections:user", per_user=self._limits.per_user)
            self._unauthenticated -= 1
            self._users[user_id] += 1
            slot.user_id = user_id

    def _leave(self, slot: "QuotaSlot") -> None:
        with self._lock:
            if slot.user_id is None:
                self._unauthenticated -= 1
                return
            self._users[slot.user_id] -= 1
            # Drop entries of users without connections.
            self._users += Counter()


class QuotaSlot:
    """The slot of one connection."""

    def __init__(self, quota: ConnectionQuota) -> None:
        self._quota = quota
        self.user_id: str | None = None

    def is_now(self, user_id: str) -> None:
        """Assign the connection to a user; call it once."""
        self._quota.introduce(self, user_id)
