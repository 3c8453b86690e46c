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
# A caller is told so many of each kind.
MAX_TOLD: Final = 10
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Acknowledged:
    """A finding of the guard that somebody takes responsibility for, and why."""

    rule_id: str
    path: str
    line: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """Findings against what was said of them."""

    taken: tuple[Acknowledged, ...]
    # What nobody answers for.
    left: tuple[Finding, ...]
    # What fits no finding.
    idle: tuple[Acknowledged, ...]
    # What gives no reason that can be kept.
    wordless: tuple[Acknowledged, ...]

    @property
    def told(self) -> str:
        """What keeps the findings from being taken as they are."""
        parts = (
            ("not acknowledged", [_place(one) for one in self.left]),
            ("acknowledged, but not found", [_place(one) for one in self.idle]),
            (
                f"acknowledged without a reason of 1 to {MAX_REASON_CHARS} printable characters",
                [_place(one) for one in self.wordless],
            ),
        )
        return "; ".join(f"{what}: {_listed(places)}" for what, places in parts if places)


def answered(found: Sequence[Finding], acknowledged: Sequence[Acknowledged]) -> Answered:
    """Which findings are answered for."""
    found_at = {_key(one) for one in found}
    said = {_key(one): one for one in acknowledged if _is_said(one)}
    return Answered(
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
        self._found = RecentCache[str, tuple[Finding, ...]](REMEMBERED)

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
            raise unsafe_error(found, hint=told if acknowledged else "")
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


def scan_skill(
    files: Mapping[str, bytes], *, pause: Callable[[], None] = go_on
) -> tuple[Finding, ...]:
    """Every line of a skill that may not be there; each way in asks this, and not the guard alone."""
    return scan_bundle(files, said=said_in(files), pause=pause)


def said_in(files: Mapping[str, bytes]) -> Iterator[ParsedValue]:
    """What stands in the fields of SKILL.md and of the runtime settings.

    A value can be written so that its line does not show what it says: with escapes, over several
    lines, beside a comment. What cannot be parsed is refused elsewhere.
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
    """Every text in a value, however deep; documents are only so deep."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield key
            yield from _texts(inner)
    else:
        for inner in value:
            yield from _texts(inner)
        # A list is shown as a row of words.
        yield " ".join(inner for inner in value if isinstance(inner, str))


def unsafe_error(findings: Sequence[Finding], *, hint: str = "") -> UnderstudyError:
    """The error that lists the findings of the guard with their files and lines."""
    told = findings[:MAX_FINDINGS]
    more = len(findings) - len(told)
    lines = [
        f"{'' if one.path == MANIFEST else one.path + ' '}line {one.line}: {one.reason} ({one.rule_id})"
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
