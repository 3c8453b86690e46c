"""Wakes threads and tasks that wait for a change of a topic."""

import asyncio
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

MAX_TOPICS: Final = 10_000
# Rings after every commit of this process.
COMMITS: Final = "commits"
# Rings after every commit of this process that changed the table; `{}` is its name.
TABLE: Final = "table:{}"
# The topic that rings with every event of every session.
EVENTS: Final = "events"
# The topic that rings when events that a reader found held back may have come free.
RELEASED: Final = "events released"
# How late it rings after a reader found some: at first, and at most.
FIRST_LOOK_S: Final = 0.01
LAST_LOOK_S: Final = 0.1
# The topic that rings once, when the daemon stops.
STOPPING: Final = "stopping"


@dataclass(slots=True)
class Bell:
    """Counts rings per topic, so that a ring between a look and a wait is never missed.

    Take `count` first, then look; if there was nothing, `wait` with that count.
    """

    _loop: asyncio.AbstractEventLoop | None = None
    # Added to every count; raised when old topics are dropped, so no count is ever reused.
    _base: int = 0
    _counts: dict[str, int] = field(default_factory=dict)
    _waiting: dict[str, set[asyncio.Event]] = field(default_factory=dict)
    _changing: threading.Lock = field(default_factory=threading.Lock)
    # How late the next ring of `RELEASED` is, and whether one is due.
    _delay_s: float = FIRST_LOOK_S
    _is_due: bool = False

    def attach(self, loop: asyncio.AbstractEventLoop) -> None:
        """Use this loop to wake waiters."""
        self._loop = loop

    def count(self, topic: str) -> int:
        """How often the topic has rung since the loop was attached."""
        with self._changing:
            return self._base + self._counts.get(topic, 0)

    def ring(self, *topics: str) -> None:
        """Wake every task that waits for one of the topics; may be called from any thread."""
        if self._loop is None or self._loop.is_closed():
            return
        with self._changing:
            self._count(topics)
            woken = [each for topic in topics for each in self._waiting.get(topic, ())]
        # Most rings of a run concern nobody, and leave the event loop asleep.
        if woken:
            self._loop.call_soon_threadsafe(_wake, woken)

    def note_feed(self, *, is_held: bool) -> None:
        """Note whether a reader found events held back; may be called from any thread.

        `RELEASED` rings for all of them, later each time until one finds nothing held back.
        """
        if not is_held:
            self._delay_s = FIRST_LOOK_S
        elif self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._ring_released)

    def _ring_released(self) -> None:
        if self._loop is None or self._is_due:
            return

        def ring() -> None:
            self._is_due = False
            self.ring(RELEASED)

        self._is_due = True
        self._loop.call_later(self._delay_s, ring)
        self._delay_s = min(2 * self._delay_s, LAST_LOOK_S)

    async def wait(self, seen: Mapping[str, int], *, timeout_s: float) -> None:
        """Return when a topic has rung since `seen`, or after the timeout."""
        woken = asyncio.Event()
        with self._changing:
            for topic in seen:
                self._waiting.setdefault(topic, set()).add(woken)
        try:
            if all(self.count(topic) == count for topic, count in seen.items()):
                async with asyncio.timeout(timeout_s):
                    await woken.wait()
        except TimeoutError:
            pass
        finally:
            with self._changing:
                for topic in seen:
                    self._leave(topic, woken)

    def _count(self, topics: tuple[str, ...]) -> None:
        for topic in topics:
            self._counts[topic] = self._counts.get(topic, 0) + 1
        if len(self._counts) > MAX_TOPICS:
            self._base += max(self._counts.values()) + 1
            self._counts.clear()

    def _leave(self, topic: str, woken: asyncio.Event) -> None:
        waiters = self._waiting.get(topic, set())
        waiters.discard(woken)
        if not waiters:
            self._waiting.pop(topic, None)


def _wake(waiting: Iterable[asyncio.Event]) -> None:
    for woken in waiting:
        woken.set()
