"""A cache of the most recently used values."""

import threading
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class RecentCache(Generic[K, V]):
    """An LRU cache with at most `most` values, safe for several threads."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: dict[K, V] = {}
        self._lock = threading.Lock()

    def get(self, key: K) -> V | None:
        """The cached value, which becomes the most recently used; None on a miss."""
        with self._lock:
            if key not in self._kept:
                return None
            value = self._kept.pop(key)
            self._kept[key] = value
            return value

    def put(self, key: K, value: V) -> None:
        """Cache a value, and evict the least recently used above the limit."""
        with self._lock:
            self._kept.pop(key, None)
            self._kept[key] = value
            while len(self._kept) > self._most:
                del self._kept[next(iter(self._kept))]
