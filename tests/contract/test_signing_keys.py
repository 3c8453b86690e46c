"""Signing keys: public parts in rows, private ones in files that nobody else reads."""

import base64
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed448 import Ed448PrivateKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from understudy.access.signing_keys import (
    LOW_ORDER,
    KeyKind,
    SigningKeyService,
    is_signed_by,
)
from understudy.core.errors import Conflict, Invalid, NotFound
from understudy.core.page import PageRequest
from understudy.core.principal import Principal, Role
from understudy.storage.unit import Units
from understudy.testing.clock import FrozenClock

ROOT = Principal(user_id="root", role=Role.ADMIN)


@pytest.fixture
def clock() -> FrozenClock:
    return FrozenClock()


@pytest.fixture
def keys(units: Units, clock: FrozenClock, tmp_path: Path) -> SigningKeyService:
    return SigningKeyService(units, clock, tmp_path / "keys")


def test_a_private_key_is_a_file_of_its_owner_alone_and_in_no_row(
    keys: SigningKeyService, units: Units
) -> None:
    key = keys.create(ROOT, "Ann's team")

    [file] = keys.folder.iterdir()
    assert (file.name, file.stat().st_mode & 0o777) == (f"{key.key_id}.pem", 0o600)
    assert keys.folder.stat().st_mode & 0o777 == 0o700
    assert "PRIVATE KEY" in file.read_text()
    assert "PRIVATE" not in repr(keys.all())
    assert "PRIVATE" not in repr(keys.signer())
    with units.read() as unit:
        [entry] = unit.audit.page(PageRequest(), resource="keys", actor=None).items
    assert (entry.action, entry.resource_id, entry.reason) == (
        "keys.create",
        key.key_id,
        "Ann's team",
    )


def test_the_newest_key_that_is_here_signs(keys: SigningKeyService, clock: FrozenClock) -> None:
    assert keys.signer() is None
    first = keys.create(ROOT, "first")
    clock.advance(1)
    second = keys.create(ROOT, "second")

    def signs() -> str | None:
        signer = keys.signer()
        return None if signer is None else signer.key.name

    assert signs() == "second"
    file = keys.folder / f"{second.key_id}.pem"
    file.chmod(0o644)
    assert (signs(), keys.get(second.key_id).can_sign) == ("first", False)
    file.chmod(0o600)
    file.write_text("damaged")
    assert signs() == "first"
    keys.remove(ROOT, first.key_id)
    assert signs() is None
    assert not (keys.folder / f"{first.key_id}.pem").exists()


def test_a_signature_is_of_one_key_and_one_text(keys: SigningKeyService) -> None:
    keys.create(ROOT, "ours")
    signer = keys.signer()
    assert signer is not None
    other = keys.create(ROOT, "other")
    made = signer.sign(b"text")

    assert is_signed_by(signer.key.public_key, made, b"text")
    assert not is_signed_by(signer.key.public_key, made, b"Text")
    assert not is_signed_by(other.public_key, made, b"text")
    assert not is_signed_by(signer.key.public_key, "not base64", b"text")
    assert not is_signed_by("no key", made, b"text")


def test_a_public_key_of_others_is_trusted_once_under_one_name(
    keys: SigningKeyService, units: Units, clock: FrozenClock, tmp_path: Path
) -> None:
    theirs = SigningKeyService(units, clock, tmp_path / "theirs").create(ROOT, "made elsewhere")
    keys.remove(ROOT, theirs.key_id)

    trusted = keys.trust(ROOT, "  Bob ", theirs.public_key)

    assert (trusted.key_id, trusted.name, trusted.kind) == (theirs.key_id, "Bob", KeyKind.TRUSTED)
    assert not trusted.can_sign
    with pytest.raises(Conflict) as twice:
        keys.trust(ROOT, "Bobby", theirs.public_key)
    assert twice.value.code == "key_exists"
    with pytest.raises(Conflict) as taken:
        keys.create(ROOT, "Bob")
    assert taken.value.code == "key_name_taken"
    # The file of the key that was refused is gone again.
    assert not keys.folder.exists() or list(keys.folder.iterdir()) == []


@pytest.mark.parametrize("name", ["", "  ", "a" * 101, "two\nlines", "\u202eleft"])
def test_a_name_says_who_signs(keys: SigningKeyService, name: str) -> None:
    with pytest.raises(Invalid) as refused:
        keys.create(ROOT, name)

    assert refused.value.code == "invalid_key_name"
    assert keys.all() == ()


def test_only_ed25519_public_keys_are_trusted(keys: SigningKeyService, tmp_path: Path) -> None:
    key = keys.create(ROOT, "ours")
    private = (keys.folder / f"{key.key_id}.pem").read_text()
    other = Ed448PrivateKey.generate().public_key()
    pem = other.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()

    for given in ("", "no key", pem, private, key.public_key[:-40]):
        with pytest.raises(Invalid) as refused:
            keys.trust(ROOT, "them", given)
        assert refused.value.code == "invalid_public_key"
        assert not given or given not in str(refused.value)


def test_a_key_that_is_not_there_is_told(keys: SigningKeyService) -> None:
    for act in (lambda: keys.get("key_0"), lambda: keys.remove(ROOT, "key_0")):
        with pytest.raises(NotFound):
            act()


P = 2**255 - 19
D = -121665 * pow(121666, -1, P) % P


def times_two(x: int, y: int) -> tuple[int, int]:
    """A point of the Edwards curve added to itself."""
    product = D * x * x * y * y % P
    return (
        2 * x * y * pow(1 + product, -1, P) % P,
        (y * y + x * x) * pow(1 - product, -1, P) % P,
    )


def x_of(y: int) -> int:
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    root = pow(square, (P + 3) // 8, P)
    return root if root * root % P == square else root * pow(2, (P - 1) // 4, P) % P


@pytest.mark.parametrize("raw", sorted(LOW_ORDER), ids=bytes.hex)
@pytest.mark.parametrize("sign", [0, 0x80])
def test_keys_whose_signatures_anybody_can_make_are_not_trusted(
    keys: SigningKeyService, raw: bytes, sign: int
) -> None:
    point = x_of(int.from_bytes(raw, "little") % P), int.from_bytes(raw, "little") % P
    for _ in range(3):
        point = times_two(*point)
    assert point == (0, 1), "eight times the point is neutral"
    public = Ed25519PublicKey.from_public_bytes(raw[:-1] + bytes([raw[-1] | sign]))
    pem = public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()

    with pytest.raises(Invalid) as refused:
        keys.trust(ROOT, "Eve", pem)

    assert refused.value.code == "invalid_public_key"
    assert "low order" in refused.value.detail
    # With this one no private key is needed: R is the neutral point, S is zero.
    forged = base64.b64encode(b"\x01" + b"\0" * 63).decode()
    assert not is_signed_by(pem, forged, b"any text")
