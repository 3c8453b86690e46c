"""Taking runs from the queue as soon as there is something to take.

The engine looks at its queues at a fixed interval: often means a busy idle daemon, seldom means
slow starts. Ours looks when somebody says that there is work, and once a second in any case.
"""

import threading
from typing import Any, Final

from dbos import DBOS, Queue
from dbos._queue import queue_worker_thread

LOOK_EVERY_S: Final = 1.0


class Nudge(threading.Event):
    """The stop event of a queue worker, whose wait can also be cut short."""

    def __init__(self) -> None:
        super().__init__()
        self._rung = threading.Event()

    def ring(self) -> None:
        """Let the worker look now."""
        self._rung.set()

    def set(self) -> None:
        """Let the worker end."""
        super().set()
        self._rung.set()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait to be rung or stopped; tells whether it was stopped."""
        self._rung.wait(timeout)
        self._rung.clear()
        return self.is_set()


class Dispatcher:
    """Runs the engine's own queue worker in a thread that listens to a nudge."""

    def __init__(self, instance: DBOS, queue: Queue) -> None:
        self._nudge = Nudge()
        # Its settings are ours and never change, so they need not be read again at every look.
        queue.database_backed_queue = False
        arguments: tuple[Any, ...] = (self._nudge, instance, queue)
        self._thread = threading.Thread(
            target=queue_worker_thread, args=arguments, name="dispatcher", daemon=True
        )

    def start(self) -> None:
        """Begin to take runs."""
        self._thread.start()

    def look(self) -> None:
        """Say that there may be something to take; may be called from any thread."""
        self._nudge.ring()

    def stop(self) -> None:
        """Take no more runs."""
        self._nudge.set()
        self._thread.join(timeout=10)
