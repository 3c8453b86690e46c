"""Signing keys: Ed25519 keys of this daemon, and public keys of others that it trusts."""

import base64
import hashlib
import os
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Final

import structlog

from understudy.core import audit
from understudy.core.clock import Clock
from understudy.core.errors import coded_error
from understudy.core.principal import Principal
from understudy.core.records import extended

# `cryptography` takes 9 MiB, and is imported where a key is used: most daemons have none.
if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import (
        Ed25519PrivateKey,
        Ed25519PublicKey,
    )

    from understudy.storage.unit import Units

log = structlog.get_logger()

FOLDER: Final = "keys"
MAX_KEYS: Final = 200
MAX_NAME_CHARS: Final = 100
# Only the daemon's account may read a private key.
_PRIVATE_MODE: Final = 0o600
_OTHERS: Final = 0o077


# The y coordinates, little-endian, of the points whose order divides 8, also where they are not reduced
# modulo p: with such a key a signature can be made that fits any text. The sign bit is left out.
LOW_ORDER: Final = frozenset(
    bytes.fromhex(y)
    for y in (
        "00" * 32,
        "01" + "00" * 31,
        "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
        "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
        "ec" + "ff" * 30 + "7f",
        "ed" + "ff" * 30 + "7f",
        "ee" + "ff" * 30 + "7f",
    )
)
_SIGN_BIT: Final = 0x80


class KeyKind(StrEnum):
    """Whose key it is."""

    OWN = "own"  # signs exported bundles
    TRUSTED = "trusted"  # verifies bundles of others


@dataclass(frozen=True, slots=True, kw_only=True)
class SigningKey:
    """A key without its private part; its id is derived from the public key."""

    key_id: str
    # The signer's name, chosen on this daemon.
    name: str
    kind: KeyKind
    # PEM, as `openssl pkey -pubin` reads it.
    public_key: str
    created_by: str
    created_at_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SigningKeyStatus(SigningKey):
    """A key, and whether this daemon holds its private part."""

    can_sign: bool


@dataclass(frozen=True, slots=True)
class Signer:
    """An own key with its private part, which no answer shows."""

    key: SigningKey
    _private: "Ed25519PrivateKey" = field(repr=False)

    def sign(self, payload: bytes) -> str:
        """The signature over some bytes, in base64."""
        return base64.b64encode(self._private.sign(payload)).decode()


def public_key_of(pem: str) -> "Ed25519PublicKey":
    """The Ed25519 public key of a PEM text; `ValueError` for anything else."""
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    try:
        found = load_pem_public_key(pem.encode())
    except UnsupportedAlgorithm as problem:
        raise ValueError("an unknown kind of key") from problem
    if not isinstance(found, Ed25519PublicKey):
        raise ValueError("no Ed25519 key")  # noqa: TRY004 - the value is wrong, as above
    return found


def public_key_in_hex(text: str) -> "Ed25519PublicKey":
    """The Ed25519 public key of 64 hex digits; `ValueError` for anything else and for a weak key."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    public = Ed25519PublicKey.from_public_bytes(bytes.fromhex(text))
    if is_low_order(public):
        raise ValueError("a key of low order")
    return public


def is_low_order(public: "Ed25519PublicKey") -> bool:
    """Whether signatures of this key can be made without its private part."""
    raw = public.public_bytes_raw()
    return raw[:-1] + bytes([raw[-1] & ~_SIGN_BIT]) in LOW_ORDER


def key_id_of(public: "Ed25519PublicKey") -> str:
    """The id of a key, the same wherever it is known."""
    return f"key_{hashlib.sha256(public.public_bytes_raw()).hexdigest()[:32]}"


def is_signed_by(pem: str, signature: str, payload: bytes) -> bool:
    """Whether a signature in base64 over some bytes was made with a key."""
    from cryptography.exceptions import InvalidSignature

    try:
        public = public_key_of(pem)
        public.verify(base64.b64decode(signature, validate=True), payload)
    except (InvalidSignature, ValueError):
        return False
    return not is_low_order(public)


@dataclass(frozen=True, slots=True)
class SigningKeyService:
    """Creates, trusts, lists and deletes keys, and signs. Private keys are files in the home."""

    units: "Units"
    clock: Clock
    folder: Path

    def all(self) -> tuple[SigningKeyStatus, ...]:
        """The keys, newest first."""
        with self.units.read() as unit:
            return tuple(map(self._status, unit.signing_keys.all()))

    def get(self, key_id: str) -> SigningKeyStatus:
        """One key, or `NotFound`."""
        found = self.find(key_id)
        if found is None:
            raise coded_error("keys/key_not_found", key_id=key_id)
        return self._status(found)

    def find(self, key_id: str) -> SigningKey | None:
        """The key with this id; None if it is not known."""
        with self.units.read() as unit:
            return unit.signing_keys.get(key_id)

    def create(self, principal: Principal, name: str) -> SigningKeyStatus:
        """A new key of this daemon; later exports are signed with it."""
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        private = Ed25519PrivateKey.generate()
        key = self._key(principal, name, KeyKind.OWN, private.public_key())
        self._write(key.key_id, private)
        try:
            self._add(principal, "keys.create", key)
        except BaseException:
            self._path(key.key_id).unlink(missing_ok=True)
            raise
        return self._status(key)

    def trust(self, principal: Principal, name: str, public_key: str) -> SigningKeyStatus:
        """Trust a public key of somebody else, so that bundles show its name as their signer."""
        if "PRIVATE KEY" in public_key:
            raise coded_error("keys/invalid_public_key:private", pointer="/public_key")
        try:
            public = public_key_of(public_key)
        except ValueError:
            raise coded_error("keys/invalid_public_key", pointer="/public_key") from None
        if is_low_order(public):
            raise coded_error("keys/invalid_public_key:low_order", pointer="/public_key")
        key = self._key(principal, name, KeyKind.TRUSTED, public)
        self._add(principal, "keys.trust", key)
        return self._status(key)

    def remove(self, principal: Principal, key_id: str) -> None:
        """Delete a key, and an own one's private part; its signatures no longer verify here."""
        with self.units.write() as unit:
            key = unit.signing_keys.get(key_id)
            if key is None:
                raise coded_error("keys/key_not_found", key_id=key_id)
            unit.signing_keys.delete(key_id)
            now = self.clock.now_ms()
            unit.audit.add(audit.done(principal, "keys.remove", key_id, at_ms=now, reason=key.name))
        self._path(key_id).unlink(missing_ok=True)

    def signer(self) -> Signer | None:
        """The newest own key whose private part is readable; None without one."""
        for key in self.all():
            private = self._private(key) if key.can_sign else None
            if private is not None:
                return Signer(key, private)
        return None

    def _key(
        self, principal: Principal, name: str, kind: KeyKind, public: "Ed25519PublicKey"
    ) -> SigningKey:
        from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

        pem = public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
        return SigningKey(
            key_id=key_id_of(public),
            name=_checked_name(name),
            kind=kind,
            public_key=pem.decode(),
            created_by=principal.actor,
            created_at_ms=self.clock.now_ms(),
        )

    def _add(self, principal: Principal, action: str, key: SigningKey) -> None:
        with self.units.write() as unit:
            known = unit.signing_keys.all()
            if len(known) >= MAX_KEYS:
                raise coded_error("keys/too_many_keys", limit=MAX_KEYS)
            if any(each.key_id == key.key_id for each in known):
                raise coded_error("keys/key_exists", pointer="/public_key", key_id=key.key_id)
            if not unit.signing_keys.add(key):
                raise coded_error("keys/key_name_taken", pointer="/name", name=key.name)
            unit.audit.add(
                audit.done(principal, action, key.key_id, at_ms=key.created_at_ms, reason=key.name)
            )

    def _status(self, key: SigningKey) -> SigningKeyStatus:
        can_sign = key.kind is KeyKind.OWN and _is_private(self._path(key.key_id))
        return extended(SigningKeyStatus, key, can_sign=can_sign)

    def _path(self, key_id: str) -> Path:
        return self.folder / f"{key_id}.pem"

    def _write(self, key_id: str, private: "Ed25519PrivateKey") -> None:
        from cryptography.hazmat.primitives.serialization import (
            Encoding,
            NoEncryption,
            PrivateFormat,
        )

        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        pem = private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
        with os.fdopen(os.open(self._path(key_id), flags, _PRIVATE_MODE), "wb") as file:
            file.write(pem)
            file.flush()
            os.fsync(file.fileno())

    def _private(self, key: SigningKey) -> "Ed25519PrivateKey | None":
        """The private key of an own key; None, with a word in the log, where it cannot be read."""
        from cryptography.exceptions import UnsupportedAlgorithm
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
        from cryptography.hazmat.primitives.serialization import load_pem_private_key

        try:
            found = load_pem_private_key(self._path(key.key_id).read_bytes(), password=None)
            if isinstance(found, Ed25519PrivateKey) and key_id_of(found.public_key()) == key.key_id:
                return found
        except (OSError, ValueError, TypeError, UnsupportedAlgorithm):
            pass
        log.warning("keys.unreadable", key_id=key.key_id)
        return None


def _is_private(path: Path) -> bool:
    """Whether a file exists that no other account can read."""
    try:
        return not path.lstat().st_mode & _OTHERS and path.is_file()
    except OSError:
        return False


def _checked_name(name: str) -> str:
    tidy = name.strip()
    if not 0 < len(tidy) <= MAX_NAME_CHARS or not tidy.isprintable():
        raise coded_error("keys/invalid_key_name", pointer="/name", limit=MAX_NAME_CHARS)
    return tidy
