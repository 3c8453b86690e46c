"""Says what is waited for when nothing has come for a while."""

import sys
import threading
from typing import Final

from understudy.cli.screen import aside

PATIENCE_S: Final = 2.0


class Waiting:
    """One line beside the reply, when a wait grows long; for people only."""

    def __init__(self, patience_s: float = PATIENCE_S) -> None:
        self._patience_s = patience_s
        self._timer: threading.Timer | None = None
        self._lock = threading.Lock()

    def begin(self, what: str) -> None:
        """From now on something is waited for."""
        if not sys.stderr.isatty():
            return
        timer = threading.Timer(self._patience_s, lambda: self._say(timer, what))
        timer.daemon = True
        with self._lock:
            self._timer = timer
        timer.start()

    def end(self) -> None:
        """It came, or it is waited for no more."""
        with self._lock:
            if self._timer is not None:
                self._timer.cancel()
            self._timer = None

    def _say(self, timer: threading.Timer, what: str) -> None:
        with self._lock:
            # The wait may have ended between the alarm and this line.
            if self._timer is timer:
                aside(f"waiting for {what}…")
