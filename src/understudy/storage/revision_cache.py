"""Cache of the latest revision of the runtime document, which every step of a run reads.

It is kept until a commit changes the table. A unit that began before a change may have read the
older revision, so what it reads is not kept. On PostgreSQL other daemons announce their changes;
while no connection listens, nothing is kept.
"""

import threading
from collections.abc import Callable

from understudy.runtime.service import Revision
from understudy.storage.schema import runtime_revisions

Load = Callable[[], Revision | None]


class RevisionCache:
    """Shared by the units of a daemon; safe to use from any thread."""

    TABLE = runtime_revisions.name

    def __init__(self, *, is_on: bool = True) -> None:
        self.is_on = is_on
        self._lock = threading.Lock()
        self._changes = 0
        # In a tuple, because None is a result: there is no revision yet.
        self._kept: tuple[Revision | None] | None = None

    def now(self) -> int:
        """The number of changes so far; taken before a unit begins."""
        return self._changes

    def read(self, load: Load, *, since: int) -> Revision | None:
        """The kept revision, or what a unit that began at `since` loads."""
        kept = self._kept
        if kept is not None:
            return kept[0]
        revision = load()
        with self._lock:
            if self.is_on and self._changes == since:
                self._kept = (revision,)
        return revision

    def changed(self) -> None:
        """Drop the revision after a commit that changed the table."""
        with self._lock:
            self._changes += 1
            self._kept = None

    def switch(self, *, is_on: bool) -> None:
        """Drop the revision; while off, none is kept."""
        # Off first: what is read meanwhile must not be kept.
        self.is_on = False
        self.changed()
        self.is_on = is_on
