"""A bundle: the files of a skill, checked, bounded and immutable."""

import hashlib
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final

from understudy.core.errors import coded_error
from understudy.core.text import quoted
from understudy.skills.bundles.limits import (
    MANIFEST,
    MAX_BUNDLE_BYTES,
    MAX_FILES,
    MAX_MANIFEST_BYTES,
)
from understudy.skills.bundles.paths import is_artifact, refused_by, tidy, twin


class Bundle(Mapping[str, bytes]):
    """Relative POSIX paths and their bytes, SKILL.md among them; artifacts are left out."""

    __slots__ = ("_files", "digest", "size")

    digest: str
    size: int

    def __init__(self, files: Mapping[str, bytes]) -> None:
        kept = _kept(files)
        if MANIFEST not in kept:
            raise coded_error(
                "skills/skill_manifest_missing", pointer="/file", detail="there is no SKILL.md"
            )
        check_manifest_size(kept[MANIFEST])
        self._files: Final = MappingProxyType({path: kept[path] for path in sorted(kept)})
        self.size = sum(map(len, kept.values()))
        _check_amount(count=len(kept), companion_bytes=self.size - len(kept[MANIFEST]))
        self.digest = digest_of(self._files)

    def __getitem__(self, path: str) -> bytes:
        return self._files[path]

    def __iter__(self) -> Iterator[str]:
        return iter(self._files)

    def __len__(self) -> int:
        return len(self._files)

    def __hash__(self) -> int:
        return hash(self.digest)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Bundle) and self.digest == other.digest

    def __repr__(self) -> str:
        return f"Bundle({len(self)} files, {self.size} bytes, {self.digest[:12]})"

    @property
    def manifest_text(self) -> str:
        """SKILL.md as text; `Invalid` when it is not UTF-8."""
        return decode(MANIFEST, self[MANIFEST])

    def with_manifest(self, text: str) -> "Bundle":
        """The same companion files with another SKILL.md."""
        return Bundle({**self._files, MANIFEST: text.encode()})


def check_manifest_size(data: bytes) -> None:
    """Refuse a SKILL.md that is too long."""
    if len(data) > MAX_MANIFEST_BYTES:
        raise coded_error(
            "skills/skill_too_large", size_bytes=len(data), limit_bytes=MAX_MANIFEST_BYTES
        )


def decode(path: str, data: bytes) -> str:
    """A file as text; `Invalid` when it is not UTF-8."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise coded_error("skills/skill_not_text", pointer="/file", path=path) from None


def _kept(files: Mapping[str, bytes]) -> dict[str, bytes]:
    kept: dict[str, bytes] = {}
    for path, data in files.items():
        cause = refused_by(path)
        if cause is not None:
            raise coded_error("skills/invalid_skill_path", pointer="/files", path=path, cause=cause)
        if is_artifact(path):
            continue
        clean = tidy(path)
        if clean in kept:
            raise coded_error(
                "skills/invalid_skill_path", pointer="/files", path=path, cause="is there twice"
            )
        kept[clean] = bytes(data)
    pair = twin(kept)
    if pair is not None:
        raise coded_error(
            "skills/invalid_skill_path",
            pointer="/files",
            path=pair[1],
            cause=f"cannot stand beside {quoted(pair[0])}",
        )
    return kept


def _check_amount(*, count: int, companion_bytes: int) -> None:
    if count > MAX_FILES:
        raise coded_error(
            "skills/bundle_too_large",
            detail=f"{count} files; at most {MAX_FILES} are allowed",
            limit=MAX_FILES,
        )
    if companion_bytes > MAX_BUNDLE_BYTES:
        raise coded_error(
            "skills/bundle_too_large",
            detail=f"the files beside SKILL.md have {companion_bytes} bytes;"
            f" at most {MAX_BUNDLE_BYTES} are allowed",
            limit=MAX_BUNDLE_BYTES,
        )


def digest_of(files: Mapping[str, bytes]) -> str:
    """SHA-256 over paths and contents, length-prefixed against ambiguity."""
    whole = hashlib.sha256()
    for path, data in sorted(files.items()):
        name = path.encode()
        whole.update(b"%d:%d:" % (len(name), len(data)))
        whole.update(name)
        whole.update(data)
    return whole.hexdigest()
