"""The content guard for skills: scans bundles, and rejects findings that no admin acknowledged."""

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from threading import BoundedSemaphore, Event
from typing import Any, Final

from understudy.core.errors import FieldError, UnderstudyError, Unsafe, coded_error
from understudy.core.pointer import pointer
from understudy.core.recent_cache import RecentCache
from understudy.core.text import and_more, quoted
from understudy.guard.rule import Finding
from understudy.guard.scan import go_on, is_whole, scan_bundle
from understudy.guard.source import ParsedValue
from understudy.skills.access import Author
from understudy.skills.bundles.bundle import Bundle
from understudy.skills.bundles.document import (
    UnreadableDocument,
    Value,
    YamlDocument,
    read_front_matter,
)
from understudy.skills.bundles.limits import MANIFEST
from understudy.skills.runtime_settings import RUNTIME_FILE, read_settings

MAX_REASON_CHARS: Final = 500
# An error lists this many findings; `understudy skills scan` lists more.
MAX_FINDINGS: Final = 100
# An error lists this many findings of each kind of problem.
MAX_TOLD: Final = 10
Scan = Callable[[Mapping[str, bytes]], tuple[Finding, ...]]
REMEMBERED: Final = 64
# Concurrent scans: a scan takes up to some seconds of CPU.
AT_ONCE: Final = 2
# How long a caller waits for a free scan slot, and how many may wait: each holds a thread. Requests
# wait before they have one, in `api/scan_queue.py`.
PATIENCE_S: Final = 10.0
MAX_WAITING: Final = 4
_HINT: Final = (
    " (findings are acknowledged by an admin, each with a reason,"
    " and only where guard.allow_acknowledged is on)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Acknowledged:
    """A finding of the guard that an admin accepts, and the reason."""

    rule_id: str
    path: str
    line: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AcknowledgementCheck:
    """The findings of a scan matched with the acknowledgements of a caller."""

    taken: tuple[Acknowledged, ...]
    # Findings without an acknowledgement.
    left: tuple[Finding, ...]
    # Acknowledgements that match no finding.
    idle: tuple[Acknowledged, ...]
    # Acknowledgements without a valid reason.
    wordless: tuple[Acknowledged, ...]

    @property
    def told(self) -> str:
        """Why the findings cannot be accepted."""
        parts = (
            ("not acknowledged", [_place(one) for one in self.left]),
            ("acknowledged, but not found", [_place(one) for one in self.idle]),
            (
                f"acknowledged without a reason of 1 to {MAX_REASON_CHARS} printable characters",
                [_place(one) for one in self.wordless],
            ),
        )
        return "; ".join(f"{what}: {_listed(places)}" for what, places in parts if places)


def check_acknowledged(
    found: Sequence[Finding], acknowledged: Sequence[Acknowledged]
) -> AcknowledgementCheck:
    """Match findings with acknowledgements."""
    found_at = {_key(one) for one in found}
    said = {_key(one): one for one in acknowledged if _is_said(one)}
    return AcknowledgementCheck(
        taken=tuple(said[_key(one)] for one in found if _key(one) in said),
        left=tuple(one for one in found if _key(one) not in said),
        idle=tuple(one for one in acknowledged if _key(one) not in found_at),
        wordless=tuple(one for one in acknowledged if not _is_said(one)),
    )


def _key(one: Finding | Acknowledged) -> tuple[str, str, int]:
    return one.rule_id, one.path, one.line


def _place(one: Finding | Acknowledged) -> str:
    return f"{quoted(one.path)} line {one.line} ({quoted(one.rule_id)})"


def _listed(places: Sequence[str]) -> str:
    return ", ".join(and_more(places[:MAX_TOLD], len(places) - MAX_TOLD))


def _is_said(one: Acknowledged) -> bool:
    reason = one.reason.strip()
    return 0 < len(reason) <= MAX_REASON_CHARS and one.reason.isprintable()


class ContentGuard:
    """Scans bundles, a few at a time, with a cache of findings by digest."""

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
        self._places = BoundedSemaphore(AT_ONCE + MAX_WAITING)
        self._stopped = Event()
        self.rejections = GuardCounters()
        self._found = RecentCache[str, tuple[Finding, ...]](REMEMBERED)

    def stop(self) -> None:
        """Stop running and waiting scans; their callers get `Unavailable`."""
        self._stopped.set()

    def findings(self, bundle: Bundle) -> tuple[Finding, ...]:
        """The findings in a bundle; empty means clean. `Unavailable` when too many scans wait."""
        known = self._found.get(bundle.digest)
        if known is not None:
            return known
        with self._turn():
            # Another thread may have scanned the same bundle meanwhile.
            known = self._found.get(bundle.digest)
            if known is None:
                known = self._scan(bundle)
                self._found.put(bundle.digest, known)
        return known

    def check(
        self, bundle: Bundle | None, author: Author, acknowledged: Sequence[Acknowledged] = ()
    ) -> tuple[Acknowledged, ...]:
        """The acknowledged findings of a bundle; `Unsafe` when a finding is not acknowledged.

        An acknowledgement that matches no finding may be a mistake, so it is rejected, also where
        there is no bundle to scan.
        """
        with self.rejections.counting():
            return self._check(bundle, author, acknowledged)

    def _check(
        self, bundle: Bundle | None, author: Author, acknowledged: Sequence[Acknowledged]
    ) -> tuple[Acknowledged, ...]:
        found = () if bundle is None else self.findings(bundle)
        said = check_acknowledged(found, acknowledged)
        # A finding that is not listed cannot be acknowledged.
        may = self._allow_acknowledged and author.is_admin and is_whole(found)
        if found and (said.left or not may):
            told = f" ({said.told})" if may else _HINT
            raise unsafe_error(found, hint=told if acknowledged else "")
        if said.idle:
            raise coded_error(
                "skills/acknowledgement_unmatched", pointer="/acknowledged", cause=said.told
            )
        return said.taken

    @contextmanager
    def _turn(self) -> Iterator[None]:
        self._check_open()
        if not self._places.acquire(blocking=False):
            raise coded_error("skills/guard_busy")
        try:
            if not self._turns.acquire(timeout=self._patience_s):
                raise coded_error("skills/guard_busy")
            try:
                self._check_open()
                yield
            finally:
                self._turns.release()
        finally:
            self._places.release()

    def _check_open(self) -> None:
        if self._stopped.is_set():
            raise coded_error("skills/guard_busy")


@dataclass(slots=True)
class GuardCounters:
    """Counts rejections by rule; a rejection for several rules counts once for each."""

    _by_rule: Counter[str] = field(default_factory=Counter)
    _lock: Any = field(default_factory=threading.Lock, repr=False)

    @contextmanager
    def counting(self) -> Iterator[None]:
        """Count the `Unsafe` errors that are raised within."""
        try:
            yield
        except Unsafe as refusal:
            with self._lock:
                self._by_rule.update({error.code for error in refusal.errors})
            raise

    def snapshot(self) -> dict[str, dict[str, int]]:
        """The counts now."""
        with self._lock:
            return {"rejections_total": dict(self._by_rule)}


def scan_skill(
    files: Mapping[str, bytes], *, pause: Callable[[], None] = go_on
) -> tuple[Finding, ...]:
    """The findings in the files of a skill and in the parsed values of its YAML."""
    return scan_bundle(files, said=parsed_values(files), pause=pause)


def parsed_values(files: Mapping[str, bytes]) -> Iterator[ParsedValue]:
    """The values in the front matter of SKILL.md and in the runtime settings.

    A value can be written so that its line does not show it: with escapes, over several lines,
    beside a comment. A document that cannot be parsed is refused elsewhere.
    """
    for path, read in _READERS.items():
        try:
            document = read(files[path].decode())
        except (KeyError, UnicodeDecodeError, UnreadableDocument):
            continue
        for key, value in document.values.items():
            for text in (key, *_texts(value)):
                yield ParsedValue(path=path, line=document.lines.get(key, 1), text=text)


def _front_matter(content: str) -> YamlDocument:
    return read_front_matter(content).document


_READERS: Mapping[str, Callable[[str], YamlDocument]] = {
    MANIFEST: _front_matter,
    RUNTIME_FILE: read_settings,
}


def _texts(value: Value) -> Iterator[str]:
    """Every string in a value; the depth of documents is limited."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield key
            yield from _texts(inner)
    else:
        for inner in value:
            yield from _texts(inner)
        # A list is shown as words in a row, which the guard reads as one text.
        yield " ".join(inner for inner in value if isinstance(inner, str))


def unsafe_error(findings: Sequence[Finding], *, hint: str = "") -> UnderstudyError:
    """The error that lists the findings of the guard with their files and lines."""
    told = findings[:MAX_FINDINGS]
    more = len(findings) - len(told)
    lines = [
        ("" if one.path == MANIFEST else f"{one.path} ")
        + f"line {one.line}: {one.reason} ({one.rule_id})"
        for one in told
    ]
    if is_whole(findings):
        lines = and_more(lines, more)
    elif more:
        lines.append("and many more")
    return coded_error(
        "skills/skill_unsafe",
        errors=tuple(
            FieldError(
                pointer=pointer(("files", one.path)),
                code=one.rule_id,
                detail=f"{one.path} line {one.line}: {one.reason}",
            )
            for one in told
        ),
        detail="; ".join(lines) + hint,
    )
