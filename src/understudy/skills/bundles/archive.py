"""ZIP archives of skills: reading, with limits on the actual unpacked data, and writing."""

import io
import stat
import zipfile
import zlib
from collections.abc import Mapping
from typing import BinaryIO, Final

from understudy.core.errors import coded_error
from understudy.core.text import quoted
from understudy.skills.bundles.bundle import Bundle
from understudy.skills.bundles.limits import MANIFEST, MAX_BUNDLE_BYTES, MAX_FILE_BYTES, MAX_FILES
from understudy.skills.bundles.paths import is_artifact, tidy, twin
from understudy.skills.bundles.zip_directory import (
    STORED,
    Entry,
    archive_error,
    archive_size_error,
    read_directory,
)

MAX_ARCHIVE_BYTES: Final = MAX_BUNDLE_BYTES
# Maximum compression ratio (zip bomb), for entries above a megabyte.
MAX_RATIO: Final = 100
RATIO_FROM_BYTES: Final = 1024 * 1024
# Accepted spellings of SKILL.md.
_MANIFESTS: Final = (MANIFEST, MANIFEST.lower())
_STEP: Final = 256 * 1024
_MADE_AT: Final = (1980, 1, 1, 0, 0, 0)


def read_archive(source: bytes | BinaryIO) -> Bundle:
    """The bundle in an archive: SKILL.md at its root, or in its single top folder."""
    data = _read(source)
    entries = [entry for entry in read_directory(data) if not is_artifact(entry.name)]
    named = {entry: tidy(entry.name) for entry in entries if not entry.is_folder}
    _check_names(list(named.values()))
    folder = _folder(list(named.values()))
    files = {entry: _inside(path, folder) for entry, path in named.items()}
    _check_declared_sizes(files)
    unpacked: dict[str, bytes] = {}
    left = MAX_BUNDLE_BYTES
    for entry, path in files.items():
        unpacked[path] = _unpack(data, entry)
        left -= _counted(path, len(unpacked[path]))
        if left < 0:
            raise _bundle_size_error()
    _check_ratio(sum(map(len, unpacked.values())), sum(entry.packed_size for entry in files))
    return Bundle(unpacked)


def write_archive(files: Mapping[str, bytes], *, folder: str) -> bytes:
    """The files as an archive, in one folder; deterministic."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for path in sorted(files):
            data = files[path]
            info = zipfile.ZipInfo(f"{folder}/{path}", date_time=_MADE_AT)
            info.create_system = 3
            mode = 0o755 if data.startswith(b"#!") else 0o644
            info.external_attr = (stat.S_IFREG | mode) << 16
            info.compress_type = _method(data)
            archive.writestr(info, data)
    return made.getvalue()


def _method(data: bytes) -> int:
    """Deflate, unless the ratio would look like a zip bomb to a reader."""
    packed = zlib.compress(data, 6)
    return zipfile.ZIP_STORED if len(data) > MAX_RATIO * len(packed) // 2 else zipfile.ZIP_DEFLATED


def _read(source: bytes | BinaryIO) -> bytes:
    data = source if isinstance(source, bytes) else source.read(MAX_ARCHIVE_BYTES + 1)
    if len(data) > MAX_ARCHIVE_BYTES:
        raise archive_size_error(
            f"an archive may have at most {MAX_ARCHIVE_BYTES} bytes", limit=MAX_ARCHIVE_BYTES
        )
    return data


def _check_names(paths: list[str]) -> None:
    if len(paths) > MAX_FILES:
        raise archive_size_error(
            f"{len(paths)} files; at most {MAX_FILES} are allowed", limit=MAX_FILES
        )
    pair = twin(paths)
    if pair is not None:
        raise coded_error(
            "skills/archive_path_refused",
            pointer="/file",
            entry=pair[1],
            cause=f"cannot stand beside {quoted(pair[0])}",
        )


def _folder(paths: list[str]) -> str:
    """The top folder of the skill with a slash; empty for the root."""
    if any(path in _MANIFESTS for path in paths):
        return ""
    found = sorted(path.partition("/")[0] for path in paths if path.partition("/")[2] in _MANIFESTS)
    if not found:
        raise coded_error(
            "skills/skill_manifest_missing",
            pointer="/file",
            detail="no SKILL.md at the root of the archive or in the one folder below it",
        )
    if len(found) > 1:
        raise archive_error(f"SKILL.md is in several folders: {', '.join(found[:5])}")
    outside = next((path for path in paths if not path.startswith(found[0] + "/")), None)
    if outside is not None:
        raise archive_error(
            f"lies outside {quoted(found[0])}, the folder of the skill", entry=outside
        )
    return found[0] + "/"


def _inside(path: str, folder: str) -> str:
    inside = path.removeprefix(folder)
    return MANIFEST if inside in _MANIFESTS else inside


def _counted(path: str, size: int) -> int:
    """The size that counts for the limit of companion files; SKILL.md has its own limit."""
    return 0 if path == MANIFEST else size


def _check_declared_sizes(files: Mapping[Entry, str]) -> None:
    """Refuse declared sizes above the limits before anything is unpacked."""
    for entry in files:
        if entry.size > MAX_FILE_BYTES:
            raise _file_size_error(entry)
    if sum(_counted(path, entry.size) for entry, path in files.items()) > MAX_BUNDLE_BYTES:
        raise _bundle_size_error()


def _unpack(data: bytes, entry: Entry) -> bytes:
    packed = memoryview(data)[entry.data_at : entry.data_at + entry.packed_size]
    content = bytes(packed) if entry.method == STORED else _inflate(packed, entry)
    if len(content) > MAX_FILE_BYTES:
        raise _file_size_error(entry)
    if len(content) != entry.size or zlib.crc32(content) != entry.crc:
        raise archive_error("is not what its header says", entry=entry.name)
    _check_ratio(len(content), entry.packed_size, entry.name)
    return content


def _inflate(packed: memoryview, entry: Entry) -> bytes:
    """Inflate at most one byte more than the limit, whatever the headers say."""
    stream = zlib.decompressobj(-zlib.MAX_WBITS)
    parts: list[bytes] = []
    size, waiting = 0, bytes(packed)
    try:
        while not stream.eof and size <= MAX_FILE_BYTES:
            part = stream.decompress(waiting, _STEP)
            waiting = stream.unconsumed_tail
            if not part and not waiting and not stream.eof:
                break
            parts.append(part)
            size += len(part)
    except zlib.error:
        raise archive_error("cannot be unpacked", entry=entry.name) from None
    if size <= MAX_FILE_BYTES and (not stream.eof or stream.unused_data):
        raise archive_error("ends too soon or too late", entry=entry.name)
    return b"".join(parts)


def _check_ratio(size: int, packed_size: int, entry: str | None = None) -> None:
    if size > RATIO_FROM_BYTES and size > MAX_RATIO * packed_size:
        raise archive_size_error(
            f"unpacks to more than {MAX_RATIO} times its size", limit=MAX_RATIO, entry=entry
        )


def _file_size_error(entry: Entry) -> Exception:
    return archive_size_error(
        f"one file may have at most {MAX_FILE_BYTES} bytes", limit=MAX_FILE_BYTES, entry=entry.name
    )


def _bundle_size_error() -> Exception:
    return archive_size_error(
        f"the files beside SKILL.md may have at most {MAX_BUNDLE_BYTES} bytes",
        limit=MAX_BUNDLE_BYTES,
    )
