"""The directory of a ZIP archive, parsed strictly, because nothing in it is trusted.

Only what ordinary tools write is accepted: one disk, no ZIP64, stored or deflated, no encryption,
every entry with a matching local header, no overlaps.
"""

import stat
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from understudy.core.errors import UnderstudyError, coded_error
from understudy.core.text import quoted
from understudy.skills.bundles.paths import refused_by

# Folders and artifacts count here, so this exceeds the file limit of a skill.
MAX_ENTRIES: Final = 2_000
STORED: Final = 0
DEFLATED: Final = 8

_END: Final = struct.Struct("<4s4H2LH")
_CENTRAL: Final = struct.Struct("<4s6H3L5H2L")
_LOCAL: Final = struct.Struct("<4s5H3L2H")
_END_MARK: Final = b"PK\x05\x06"
_CENTRAL_MARK: Final = b"PK\x01\x02"
_LOCAL_MARK: Final = b"PK\x03\x04"
_MAX_COMMENT: Final = 0xFFFF
_UNSAID: Final = 0xFFFFFFFF
# Encrypted, patched, strongly encrypted, masked.
_REFUSED_FLAGS: Final = 0x0001 | 0x0020 | 0x0040 | 0x2000
_SIZES_FOLLOW: Final = 0x0008
_NAME_IS_UTF8: Final = 0x0800
# PKWARE's Unix field: the symlink target follows its twelve bytes.
_UNIX_FIELD: Final = 0x000D
_UNIX_FIELD_BYTES: Final = 12
_ROOT: Final = "./"
_KINDS: Final = frozenset({0, stat.S_IFREG, stat.S_IFDIR})


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One entry of the directory, and the offset of its packed bytes."""

    name: str
    is_folder: bool
    method: int
    crc: int
    packed_size: int
    size: int
    header_at: int
    data_at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Record:
    """A record of the central directory."""

    raw_name: bytes
    name: str
    flags: int
    method: int
    crc: int
    packed_size: int
    size: int
    mode: int
    header_at: int
    extra: bytes


def read_directory(data: bytes) -> tuple[Entry, ...]:
    """Every entry of an archive in order; `Invalid` for anything unusual."""
    at, end, count = _directory_place(data)
    records = list(_records(data, at, end, count))
    entries = tuple(_entry(data, record, limit=at) for record in records)
    _check_apart(entries)
    return entries


def _directory_place(data: bytes) -> tuple[int, int, int]:
    """The offsets of the directory, and its number of entries."""
    at = data.rfind(_END_MARK, max(0, len(data) - _END.size - _MAX_COMMENT))
    if at < 0 or at + _END.size > len(data):
        raise archive_error("this is not a ZIP archive")
    _, disk, first_disk, here, count, size, start, comment = _END.unpack_from(data, at)
    if at + _END.size + comment != len(data):
        raise archive_error("the end of the archive is not where it has to be")
    # Checked before anything is allocated for them.
    if max(here, count) > MAX_ENTRIES:
        raise archive_size_error(
            f"more than {MAX_ENTRIES} entries in the archive", limit=MAX_ENTRIES
        )
    if disk or first_disk or here != count:
        raise archive_error("archives in several parts are not read")
    if start + size != at:
        raise archive_error("the directory of the archive is not where it has to be")
    return start, at, count


def _records(data: bytes, at: int, end: int, count: int) -> Iterator[_Record]:
    for _ in range(count):
        if at + _CENTRAL.size > end or data[at : at + 4] != _CENTRAL_MARK:
            raise archive_error("the directory of the archive is damaged")
        (_, _, _, flags, method, _, _, crc, packed, size, name_size, extra_size, comment_size) = (
            _CENTRAL.unpack_from(data, at)[:13]
        )
        disk, _, attributes, header_at = _CENTRAL.unpack_from(data, at)[13:]
        name_at = at + _CENTRAL.size
        extra_at = name_at + name_size
        at = extra_at + extra_size + comment_size
        if at > end or disk:
            raise archive_error("the directory of the archive is damaged")
        raw_name = data[name_at:extra_at]
        yield _Record(
            raw_name=raw_name,
            name=_decoded(raw_name, flags),
            flags=flags,
            method=method,
            crc=crc,
            packed_size=packed,
            size=size,
            mode=attributes >> 16,
            header_at=header_at,
            extra=data[extra_at : extra_at + extra_size],
        )
    if at != end:
        raise archive_error("the directory of the archive has more than it says")


def _decoded(raw: bytes, flags: int) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        if flags & _NAME_IS_UTF8:
            raise archive_error("the name of an entry is not UTF-8") from None
        return raw.decode("cp437")


def _entry(data: bytes, record: _Record, *, limit: int) -> Entry:
    _check_kind(record)
    is_folder = record.name.endswith("/") or stat.S_ISDIR(record.mode)
    if is_folder and record.size:
        raise coded_error(
            "skills/archive_path_refused",
            pointer="/file",
            entry=record.name,
            cause="is a folder with content",
        )
    return Entry(
        name=record.name,
        is_folder=is_folder,
        method=record.method,
        crc=record.crc,
        packed_size=record.packed_size,
        size=record.size,
        header_at=record.header_at,
        data_at=_data_place(data, record, limit=limit),
    )


def _check_kind(record: _Record) -> None:
    # Some tools write an entry for the root.
    cause = None if record.name == _ROOT else refused_by(record.name)
    if cause is not None:
        raise coded_error(
            "skills/archive_path_refused", pointer="/file", entry=record.name, cause=cause
        )
    if stat.S_IFMT(record.mode) not in _KINDS or _names_a_link(record.extra):
        raise coded_error(
            "skills/archive_path_refused",
            pointer="/file",
            entry=record.name,
            cause="is a link or a device, not a file",
        )
    if record.flags & _REFUSED_FLAGS:
        raise archive_error("is encrypted", entry=record.name)
    if record.method not in {STORED, DEFLATED}:
        raise archive_error(
            f"is packed by method {record.method}; only stored and deflated entries are read",
            entry=record.name,
        )
    if _UNSAID in {record.packed_size, record.size, record.header_at}:
        raise archive_error("is written as ZIP64, which is not read", entry=record.name)


def _names_a_link(extra: bytes) -> bool:
    at = 0
    while at + 4 <= len(extra):
        kind, size = struct.unpack_from("<2H", extra, at)
        if kind == _UNIX_FIELD and size > _UNIX_FIELD_BYTES:
            return True
        at += 4 + size
    return False


def _data_place(data: bytes, record: _Record, *, limit: int) -> int:
    """The offset of the packed bytes: after a local header that matches the directory."""
    at = record.header_at
    if at + _LOCAL.size > limit or data[at : at + 4] != _LOCAL_MARK:
        raise archive_error("is not where the directory says", entry=record.name)
    _, _, flags, method, _, _, _, packed, size, name_size, extra_size = _LOCAL.unpack_from(data, at)
    name_at = at + _LOCAL.size
    place: int = name_at + name_size + extra_size
    same_sizes = flags & _SIZES_FOLLOW or (
        packed in {record.packed_size, _UNSAID} and size in {record.size, _UNSAID}
    )
    same = (
        data[name_at : name_at + name_size] == record.raw_name
        and method == record.method
        and not flags & _REFUSED_FLAGS
        and same_sizes
        and not _names_a_link(data[name_at + name_size : place])
    )
    if not same or place + record.packed_size > limit:
        raise archive_error("its header and the directory disagree", entry=record.name)
    return place


def _check_apart(entries: tuple[Entry, ...]) -> None:
    end = 0
    for entry in sorted(entries, key=lambda entry: entry.header_at):
        if entry.header_at < end:
            raise archive_error("lies over another entry", entry=entry.name)
        end = entry.data_at + entry.packed_size


def archive_error(cause: str, *, entry: str | None = None) -> UnderstudyError:
    """The error of an archive, or an entry in it, that is not a supported ZIP."""
    return coded_error("skills/invalid_archive", pointer="/file", detail=_of_entry(entry) + cause)


def archive_size_error(cause: str, *, limit: int, entry: str | None = None) -> UnderstudyError:
    """The error of an archive, or of an entry in it, that is too large."""
    return coded_error("skills/archive_too_large", detail=_of_entry(entry) + cause, limit=limit)


def _of_entry(entry: str | None) -> str:
    return "" if entry is None else f"{quoted(entry)}: "
