"""`understudy.lock`: the digests of what was published into a repository, signed where a key is set."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Final

from pydantic import TypeAdapter, ValidationError

from understudy.access.signing_keys import Signer, is_signed_by, key_id_of, public_key_of
from understudy.core.errors import UnderstudyError
from understudy.foreign.instruction_block import digest, digest_of_block, split
from understudy.foreign.repository import Repository

LOCK: Final = "understudy.lock"
INSTRUCTIONS: Final = ("AGENTS.md", "CLAUDE.md")
SKILL_FOLDERS: Final = (".claude/skills", ".agents/skills")
FORMAT: Final = "understudy-lock-1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """A file that is not as it was published, and in which way."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Lock:
    """The digests of the block in each instruction file, and of every skill file."""

    format: str = FORMAT
    project_id: str | None = None
    block: Mapping[str, str]
    skills: Mapping[str, str]
    signer: str | None = None
    key_id: str | None = None
    public_key: str | None = None
    signature: str | None = None

    def signed(self, signer: Signer | None) -> "Lock":
        """This lock with the signature of a key; as it is without one."""
        if signer is None:
            return self
        key = signer.key
        named = replace(self, signer=key.name, key_id=key.key_id, public_key=key.public_key)
        return replace(named, signature=signer.sign(named.payload))

    @property
    def payload(self) -> bytes:
        """What is signed: everything but the signature, as canonical JSON."""
        said = {name: value for name, value in asdict(self).items() if name != "signature"}
        return json.dumps(said, sort_keys=True, separators=(",", ":")).encode()

    @property
    def is_genuine(self) -> bool:
        """Whether it is unsigned, or its signature is one of the key that it names."""
        if not self.signature:
            return not (self.key_id or self.public_key)
        if not self.public_key or not is_signed_by(self.public_key, self.signature, self.payload):
            return False
        return key_id_of(public_key_of(self.public_key)) == self.key_id

    def to_bytes(self) -> bytes:
        """The file."""
        said = {name: value for name, value in asdict(self).items() if value is not None}
        return json.dumps(said, indent=2, sort_keys=True).encode() + b"\n"


_LOCK: Final = TypeAdapter(Lock)
_BELOW: Final = tuple(f"{folder}/" for folder in SKILL_FOLDERS)


def lock_in(files: Repository) -> Lock | None:
    """The lock of a repository; None where there is none, or one that cannot be read."""
    content = files.read(LOCK)
    try:
        found = _LOCK.validate_json(content or b"")
    except ValidationError:
        return None
    are_ours = all(path.startswith(_BELOW) for path in found.skills)
    return found if found.format == FORMAT and are_ours else None


def drift_of(files: Repository) -> Iterator[Drift]:
    """What differs from the lock, as it can be told without the daemon."""
    lock = lock_in(files)
    if lock is None:
        reason = "missing" if files.read(LOCK) is None else "damaged"
        yield Drift(path=LOCK, reason=reason)
        return
    if not lock.is_genuine:
        yield Drift(path=LOCK, reason="bad_signature")
    for path, expected in lock.block.items():
        if difference := _block_difference(files, path, expected):
            yield Drift(path=path, reason=difference)
    for path, expected in lock.skills.items():
        content = _read(files, path)
        if content is None or digest(content) != expected:
            yield Drift(path=path, reason="missing" if content is None else "changed")
    for folder in sorted({"/".join(path.split("/")[:3]) for path in lock.skills}):
        yield from (
            Drift(path=path, reason="added")
            for path in sorted(files.files(folder))
            if path not in lock.skills
        )


def _block_difference(files: Repository, path: str, expected: str) -> str | None:
    try:
        _, block, _ = split(path, files.read(path) or b"")
    except UnderstudyError:
        return "damaged"
    if block is None:
        return "missing"
    return None if digest_of_block(block) == expected else "changed"


def _read(files: Repository, path: str) -> bytes | None:
    """The content of a file; a link or a special file is none."""
    try:
        return files.read(path)
    except UnderstudyError:
        return None
