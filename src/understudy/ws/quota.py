"""Connection quota: how many connections are open in all, before authentication, and of each user."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

from understudy.core.errors import coded_error
from understudy.ws.limits import Limits


class ConnectionQuota:
    """Everybody who is connected; whoever is not known takes no place from those who are."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._lock = Lock()
        self._strangers = 0
        self._users: Counter[str] = Counter()

    @contextmanager
    def enter(self) -> Iterator["QuotaSlot"]:
        """Let a stranger in, until they leave; `Unavailable` when there is no room."""
        with self._lock:
            is_full = self._strangers + self._users.total() >= self._limits.connections
            if is_full or self._strangers >= self._limits.strangers:
                raise coded_error("ws/too_many_connections")
            self._strangers += 1
        visitor = QuotaSlot(self)
        try:
            yield visitor
        finally:
            self._leave(visitor)

    def introduce(self, visitor: "QuotaSlot", user_id: str) -> None:
        """Have a stranger be a user; `LimitExceeded` when that one is there often enough."""
        with self._lock:
            if self._users[user_id] >= self._limits.per_user:
                raise coded_error("ws/too_many_connections:user", per_user=self._limits.per_user)
            self._strangers -= 1
            self._users[user_id] += 1
            visitor.user_id = user_id

    def _leave(self, visitor: "QuotaSlot") -> None:
        with self._lock:
            if visitor.user_id is None:
                self._strangers -= 1
                return
            self._users[visitor.user_id] -= 1
            # Nobody is remembered who is gone.
            self._users += Counter()


class QuotaSlot:
    """One who is connected."""

    def __init__(self, crowd: ConnectionQuota) -> None:
        self._crowd = crowd
        self.user_id: str | None = None

    def is_now(self, user_id: str) -> None:
        """Say who it is; once."""
        self._crowd.introduce(self, user_id)
