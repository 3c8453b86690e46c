"""Detached signatures of exported skills, in a file of the archive."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from understudy.access.signing_keys import MAX_NAME_CHARS, is_signed_by, key_id_of, public_key_of
from understudy.core.errors import UnderstudyError, coded_error
from understudy.core.text import printable
from understudy.runtime.service import current_revision
from understudy.runtime.two_people import requires_signature
from understudy.skills.bundles.bundle import Bundle, digest_of
from understudy.skills.bundles.limits import MAX_FILES
from understudy.skills.bundles.manifest import parse
from understudy.skills.model import BundleSignature
from understudy.skills.slug import slug_for

if TYPE_CHECKING:
    from understudy.access.signing_keys import SigningKeyService
    from understudy.storage.unit import Units

SIGNATURE_FILE: Final = "SIGNATURE.json"
FORMAT: Final = "understudy-signature-1"
MAX_SIGNATURE_BYTES: Final = 16_384
FIELDS: Final = frozenset(
    {"format", "slug", "digest", "signer", "key_id", "public_key", "signature"}
)


@dataclass(frozen=True, slots=True)
class BundleSignatures:
    """Signs exports, and verifies uploads."""

    units: "Units"
    keys: "SigningKeyService"

    def sign(self, files: Mapping[str, bytes], slug: str) -> Mapping[str, bytes]:
        """The files of an export with a signature; unsigned where this daemon has no key.

        It replaces a file of that name, so that no author can prevent the signature.
        """
        signer = self.keys.signer()
        if signer is None:
            return files
        files = _without_signature(files)
        # One file above the limit would make the archive impossible to upload.
        if len(files) >= MAX_FILES:
            return files
        said = {
            "format": FORMAT,
            "slug": slug,
            "digest": digest_of(files),
            "signer": signer.key.name,
            "key_id": signer.key.key_id,
            "public_key": signer.key.public_key,
        }
        said["signature"] = signer.sign(_payload(said))
        return {**files, SIGNATURE_FILE: json.dumps(said, indent=2).encode() + b"\n"}

    def check(
        self, bundle: Bundle, slug: str | None = None
    ) -> tuple[Bundle, BundleSignature | None]:
        """An uploaded bundle without its signature, and who made it; None for one that has none.

        `Invalid` if the files are not those that were signed, or would be stored under another slug. Where the policy asks for a signature
        of a known key, everything else is `Rejected`.
        """
        said = _read(bundle)
        found = None
        if said is not None:
            bundle = Bundle(_without_signature(bundle))
            found = self._verified(said, bundle)
            _check_slug(said["slug"], bundle, slug)
        if found is None or not found.is_trusted:
            with self.units.read() as unit:
                document = current_revision(unit).document
            if requires_signature(document):
                reason = "unsigned" if found is None else "unknown"
                raise coded_error(f"skills/signature_required:{reason}", pointer="/file")
        return bundle, found

    def _verified(self, said: Mapping[str, str], bundle: Bundle) -> BundleSignature:
        if said["digest"] != bundle.digest:
            raise _bad("content")
        signature = said["signature"]
        unsigned = {name: value for name, value in said.items() if name != "signature"}
        if not is_signed_by(said["public_key"], signature, _payload(unsigned)):
            raise _bad("signature")
        key_id = key_id_of(public_key_of(said["public_key"]))
        if key_id != said["key_id"]:
            raise _bad("signature")
        known = self.keys.find(key_id)
        name = printable(said["signer"])[:MAX_NAME_CHARS] if known is None else known.name
        return BundleSignature(key_id=key_id, signer=name, is_trusted=known is not None)


def _read(bundle: Bundle) -> Mapping[str, str] | None:
    """The content of a signature file; None for an unrelated file of that name."""
    data = bundle.get(SIGNATURE_FILE)
    if data is None:
        return None
    try:
        said = json.loads(data) if len(data) <= MAX_SIGNATURE_BYTES else None
    except (ValueError, RecursionError):
        return None
    if not isinstance(said, dict) or said.get("format") != FORMAT:
        return None
    if said.keys() != FIELDS or not all(isinstance(value, str) for value in said.values()):
        raise _bad("malformed")
    return said


def _check_slug(signed: str, bundle: Bundle, given: str | None) -> None:
    """Refuse a signature for one skill under the name of another, which nobody vouches for."""
    manifest = parse(bundle.manifest_text, pointer="/file").manifest
    slug = slug_for(given=given, written=manifest.slug, name=manifest.name)
    if slug != signed:
        raise coded_error(
            "skills/bad_signature:slug", pointer="/file", signed=printable(signed), slug=slug
        )


def _without_signature(files: Mapping[str, bytes]) -> dict[str, bytes]:
    return {path: data for path, data in files.items() if path != SIGNATURE_FILE}


def _payload(said: Mapping[str, str]) -> bytes:
    """The signed bytes: canonical JSON."""
    return json.dumps(said, sort_keys=True, separators=(",", ":")).encode()


def _bad(variant: str) -> UnderstudyError:
    return coded_error(f"skills/bad_signature:{variant}", pointer="/file")
