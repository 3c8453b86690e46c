"""The content guard at the gate: nothing that it finds fault with is kept, unless an admin says so."""

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from threading import BoundedSemaphore, Event
from typing import Any, Final

from understudy.core.errors import Unsafe, coded_error
from understudy.core.recent_cache import Remembered
from understudy.guard.rule import Finding
from understudy.guard.scan import is_whole
from understudy.skills import errors
from understudy.skills.acknowledgement import Acknowledged, answered
from understudy.skills.authority import Author
from understudy.skills.bundles.bundle import Bundle
from understudy.skills.guard_scan import scan_skill

Scan = Callable[[Mapping[str, bytes]], tuple[Finding, ...]]

REMEMBERED: Final = 64
# Scans at the same time: one takes up to some seconds, and whoever asks for something else goes first.
AT_ONCE: Final = 2
# How long a caller waits until it is its bundle's turn.
PATIENCE_S: Final = 10.0
_HINT: Final = (
    " (findings are acknowledged by an admin, each with a reason,"
    " and only where guard.allow_acknowledged is on)"
)


class ContentGuard:
    """Scans bundles, a few at a time, and remembers by their digests what it found."""

    def __init__(
        self,
        *,
        allow_acknowledged: bool = False,
        scan: Scan | None = None,
        patience_s: float = PATIENCE_S,
    ) -> None:
        self._allow_acknowledged = allow_acknowledged
        self._scan = scan or partial(scan_skill, pause=self._check_open)
        self._patience_s = patience_s
        self._turns = BoundedSemaphore(AT_ONCE)
        self._stopped = Event()
        self.rejections = GuardCounters()
        self._found = Remembered[str, tuple[Finding, ...]](REMEMBERED)

    def stop(self) -> None:
        """Let no scan go on: whoever waits for one is told to come again."""
        self._stopped.set()

    def findings(self, bundle: Bundle) -> tuple[Finding, ...]:
        """Every line that may not be there; empty means clean. `Unavailable` when too many ask."""
        known = self._found.get(bundle.digest)
        if known is not None:
            return known
        with self._turn():
            # Another one may have brought the same bundle.
            known = self._found.get(bundle.digest)
            if known is None:
                known = self._scan(bundle)
                self._found.put(bundle.digest, known)
        return known

    def check(
        self, bundle: Bundle | None, author: Author, acknowledged: Sequence[Acknowledged] = ()
    ) -> tuple[Acknowledged, ...]:
        """Raise `Unsafe` unless the bundle is clean; answers the findings that are taken as they are.

        What is said of a finding that there is not may be a mistake, so nothing is taken then, nor
        where no bundle is to be read.
        """
        with self.rejections.counting():
            return self._check(bundle, author, acknowledged)

    def _check(
        self, bundle: Bundle | None, author: Author, acknowledged: Sequence[Acknowledged]
    ) -> tuple[Acknowledged, ...]:
        found = () if bundle is None else self.findings(bundle)
        said = answered(found, acknowledged)
        # What is not listed cannot be taken as it is.
        may = self._allow_acknowledged and author.is_admin and is_whole(found)
        if found and (said.left or not may):
            told = f" ({said.told})" if may else _HINT
            raise errors.unsafe(found, hint=told if acknowledged else "")
        if said.idle:
            raise coded_error(
                "skills/acknowledgement_unmatched", pointer="/acknowledged", cause=said.told
            )
        return said.taken

    @contextmanager
    def _turn(self) -> Iterator[None]:
        self._check_open()
        if not self._turns.acquire(timeout=self._patience_s):
            raise coded_error("skills/guard_busy")
        try:
            self._check_open()
            yield
        finally:
            self._turns.release()

    def _check_open(self) -> None:
        if self._stopped.is_set():
            raise coded_error("skills/guard_busy")


@dataclass(slots=True)
class GuardCounters:
    """Counts by rule; what breaks several rules counts for each of them once."""

    _by_rule: Counter[str] = field(default_factory=Counter)
    _lock: Any = field(default_factory=threading.Lock, repr=False)

    @contextmanager
    def counting(self) -> Iterator[None]:
        """Whatever the guard refuses within counts."""
        try:
            yield
        except Unsafe as refusal:
            with self._lock:
                self._by_rule.update({error.code for error in refusal.errors})
            raise

    def snapshot(self) -> dict[str, dict[str, int]]:
        """The counts as they stand."""
        with self._lock:
            return {"rejections_total": dict(self._by_rule)}
