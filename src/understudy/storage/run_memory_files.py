"""Run memories as JSON files in one directory, replaced atomically, readable by the owner alone.

They are only written and deleted within a write unit. On SQLite there is one such unit at a time
and one daemon per home, so no two writers race for a file name.
"""

import errno
import json
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, Final

from understudy.core.errors import DamagedRecord, coded_error
from understudy.memory.ports import Found
from understudy.memory.record import RunMemoryRecord, record_json
from understudy.storage import asides
from understudy.storage.files import made, opened, read_file, replace_file
from understudy.storage.run_memory_rows import read_memory

SAFE: Final = "__safe"
MAX_BYTES: Final = 1024 * 1024
MOST_KNOWN: Final = 2048
_SAFE_NAME: Final = re.compile(r"id-((?:[0-9a-f]{2})+)\.json")
# Legacy file names: a run id that is a safe part of a path.
_HARMLESS: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")

# Errors of one file; the other files can still be read.
_OF_ONE_FILE: Final = frozenset({errno.EACCES, errno.EPERM, errno.EIO})

Identity = tuple[int, int, int, int]


class FileRunMemories:
    """One file per run: `__safe/id-<hex of the run id>.json`."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        # A cache of records: a run reads those of its session again and again.
        self._known: dict[str, tuple[Identity, RunMemoryRecord]] = {}

    def put(self, record: RunMemoryRecord) -> str:
        """Write a record, replacing an older one; answers its stamp."""
        data = (json.dumps(record_json(record), indent=2) + "\n").encode()
        with _speaking("kept"):
            self._directory.mkdir(mode=0o700, exist_ok=True)
            with opened(self._directory) as raw, made(SAFE, within=raw) as safe:
                written = replace_file(safe, _safe_name(record.run_id), data)
                _remove(raw, _raw_name(record.run_id))
        return _stamp(written)

    def get(self, run_id: str) -> RunMemoryRecord | None:
        """The record of a run; None when there is none."""
        with self._places() as (safe, raw):
            return self._found(safe, raw, run_id)

    def readable(self, run_ids: Sequence[str]) -> dict[str, RunMemoryRecord]:
        """The records of these runs, without those that are missing or damaged."""
        found = {}
        with self._places() as (safe, raw):
            for run_id in run_ids:
                with suppress(DamagedRecord):
                    record = self._found(safe, raw, run_id)
                    if record is not None:
                        found[run_id] = record
        return found

    def _found(self, safe: int | None, raw: int | None, run_id: str) -> RunMemoryRecord | None:
        identity = _identity(safe, _safe_name(run_id))
        known = self._known.get(run_id)
        if known is not None and known[0] == identity:
            return known[1]
        data = _content(safe, _safe_name(run_id))
        if data is None:
            data = _content(raw, _raw_name(run_id))
        record = None if data is None else read_memory(run_id, partial(_loaded, data))
        self._note(run_id, identity, record)
        return record

    def _note(self, run_id: str, identity: Identity | None, record: RunMemoryRecord | None) -> None:
        if identity is None or record is None:
            self._known.pop(run_id, None)
            return
        if len(self._known) >= MOST_KNOWN:
            self._known.clear()
        self._known[run_id] = (identity, record)

    @contextmanager
    def _places(self) -> Iterator[tuple[int | None, int | None]]:
        """The existing directories: the canonical one and the legacy one."""
        with _speaking("read"), ExitStack() as stack:
            safe = raw = None
            with suppress(FileNotFoundError):
                raw = stack.enter_context(opened(self._directory))
                safe = stack.enter_context(opened(SAFE, within=raw))
            yield safe, raw

    def delete(self, run_ids: Sequence[str]) -> None:
        """Delete records under both names; a missing one is ignored."""
        for run_id in run_ids:
            path = f"{SAFE}/{_safe_name(run_id)}"
            self._known.pop(run_id, None)
            with _deleting(path, run_id):
                self._act(path, _remove)
                raw_name = _raw_name(run_id)
                if raw_name is not None:
                    self._act(raw_name, _remove)

    def is_there(self) -> bool:
        """Whether the directory exists; before the first record it may not."""
        return (self._directory / SAFE).is_dir()

    def scan(self) -> Iterable[Found]:
        """Every entry of the directories, also foreign ones."""
        with _listing():
            return tuple(
                _canonical(entry) if place else _legacy(entry)
                for place, entry in self._entries()
                if asides.name_before(entry.name) is None
            )

    def holds_just(self, stamps: Mapping[str, str]) -> bool:
        """Whether there are only the records of these runs, all unchanged since their stamp.

        A quick look: no more than a name and a stamp is compared, and the first difference ends it.
        """
        left = {_safe_name(run_id): stamp for run_id, stamp in stamps.items()}
        with _listing():
            for place, entry in self._entries():
                stamp = left.pop(entry.name, "") if place else ""
                if not stamp or stamp != _stamp_of(entry):
                    return False
        return not left

    def set_aside(self, found: Found) -> None:
        """Rename an entry until the transaction commits or rolls back."""
        if found.path is not None:
            with _deleting(found.path, found.run_id):
                self._act(found.path, asides.set_aside)

    def put_back(self, found: Found) -> None:
        """Rename an entry that was set aside back."""
        if found.path is not None:
            with _speaking("put back"):
                self._act(found.path, asides.put_back)

    def discard(self, found: Found) -> None:
        """Delete an entry that was set aside."""
        if found.path is not None:
            with _deleting(found.path, found.run_id):
                self._act(found.path, asides.drop)

    def left_aside(self) -> Iterable[Found]:
        """Entries that a crash left set aside, under their former names."""
        with _listing():
            return tuple(
                Found(path=place + name, run_id=_run_of(name) if place else _raw_run_of(name))
                for place, entry in self._entries()
                if (name := asides.name_before(entry.name)) is not None
            )

    def _entries(self) -> Iterator[tuple[str, os.DirEntry[str]]]:
        with suppress(FileNotFoundError), opened(self._directory) as raw:
            with os.scandir(raw) as entries:
                yield from (("", entry) for entry in entries if entry.name != SAFE)
            with opened(SAFE, within=raw) as safe, os.scandir(safe) as entries:
                yield from ((f"{SAFE}/", entry) for entry in entries)

    def _act(self, path: str, act: Callable[[int, str], None]) -> None:
        """Apply an action to a name in one of the two directories, and nowhere else."""
        *within, name = path.split("/")
        if within not in ([], [SAFE]) or name in {"", ".", ".."}:
            raise FileNotFoundError(2, "not a file of this store")
        with suppress(FileNotFoundError), opened(self._directory) as raw:
            if not within:
                act(raw, name)
                return
            with opened(SAFE, within=raw) as safe:
                act(safe, name)


def _safe_name(run_id: str) -> str:
    return f"id-{run_id.encode('utf-8', 'surrogatepass').hex()}.json"


def _raw_name(run_id: str) -> str | None:
    return f"{run_id}.json" if _HARMLESS.fullmatch(run_id) else None


def _run_of(safe_name: str) -> str | None:
    named = _SAFE_NAME.fullmatch(safe_name)
    if named is not None:
        with suppress(UnicodeDecodeError):
            return bytes.fromhex(named[1]).decode()
    return None


def _raw_run_of(raw_name: str) -> str | None:
    run_id = raw_name.removesuffix(".json")
    return run_id if _raw_name(run_id) == raw_name else None


def _canonical(entry: os.DirEntry[str]) -> Found:
    run_id = _run_of(entry.name)
    stamp = "" if run_id is None else _stamp_of(entry)
    return Found(path=f"{SAFE}/{entry.name}", run_id=run_id, is_canonical=bool(stamp), stamp=stamp)


def _legacy(entry: os.DirEntry[str]) -> Found:
    run_id = _raw_run_of(entry.name) if entry.is_file(follow_symlinks=False) else None
    is_record = run_id is not None
    return Found(
        path=entry.name,
        run_id=run_id,
        is_canonical=False,
        is_legacy=is_record,
    )


def _stamp_of(entry: os.DirEntry[str]) -> str:
    """The stamp of a plain file; "" for anything else."""
    if not entry.is_file(follow_symlinks=False):
        return ""
    return _stamp(entry.stat(follow_symlinks=False))


def _stamp(status: os.stat_result) -> str:
    return f"{status.st_size}-{status.st_mtime_ns}-{status.st_ino}"


def _identity(directory: int | None, name: str) -> Identity | None:
    """Inode, size, mtime and ctime of a plain file, which change with it; None if there is none."""
    if directory is None:
        return None
    try:
        found = os.stat(name, dir_fd=directory, follow_symlinks=False)
    except OSError:
        # Reading the file reports the error.
        return None
    if not stat.S_ISREG(found.st_mode):
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def _content(directory: int | None, name: str | None) -> bytes | None:
    if directory is None or name is None:
        return None
    try:
        return read_file(directory, name, limit=MAX_BYTES + 1)
    except OSError as problem:
        if problem.errno not in _OF_ONE_FILE:
            raise
        raise coded_error(
            "storage/record_damaged:memory_file", safe=SAFE, name=name, strerror=problem.strerror
        ) from problem


def _remove(directory: int, name: str | None) -> None:
    if name is not None:
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=directory)


def _loaded(data: bytes) -> Any:
    if len(data) > MAX_BYTES:
        raise ValueError("too long")
    return json.loads(data)


@contextmanager
def _speaking(what: str) -> Iterator[None]:
    """Turn file system errors into `Unavailable`."""
    try:
        yield
    except OSError as problem:
        raise coded_error(
            "run_memories/run_memory_storage_unavailable", what=what, strerror=problem.strerror
        ) from problem


@contextmanager
def _listing() -> Iterator[None]:
    """Turn file system errors of a scan into `Unavailable`."""
    try:
        yield
    except OSError as problem:
        raise coded_error(
            "run_memories/run_memory_scan_failed:list", strerror=problem.strerror
        ) from problem


@contextmanager
def _deleting(path: str, run_id: str | None) -> Iterator[None]:
    """Turn file system errors of a deletion into `Unavailable` with the file name."""
    try:
        yield
    except OSError as problem:
        raise coded_error(
            "run_memories/run_memory_delete_failed",
            path=_shown(path),
            run_id=run_id,
            strerror=problem.strerror,
        ) from problem


def _shown(path: str) -> str:
    # File names may contain bytes that are no valid text.
    return path.encode("utf-8", "backslashreplace").decode()
