"""Receipts: keyed digests of unlearned records, and their verification."""

import hmac
import json
import secrets
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

from understudy.core.errors import coded_error
from understudy.unlearn.model import (
    KEPT,
    BlastItem,
    BlastRadius,
    Resource,
    Unlearn,
    UnlearnMode,
    UnlearnReceipt,
    UnlearnVerification,
)

if TYPE_CHECKING:
    from understudy.storage.unit import Unit

KEY_BYTES: Final = 32
DIGEST_CHARS: Final = 32
OUT_OF_REACH: Final = (
    "backups of the home or the database",
    "files in the workspace",
    "what model providers, webhooks and MCP servers were sent",
    "bytes that the disk or PostgreSQL's own log keeps",
)


def key_of(unit: "Unit", *, now_ms: int) -> bytes:
    """The receipt key of this database, created on first use."""
    known = unit.unlearns.key()
    if known is None:
        unit.unlearns.keep_key(secrets.token_hex(KEY_BYTES), at_ms=now_ms)
        known = unit.unlearns.key()
    return bytes.fromhex(known or "")


def digest_of(key: bytes, *parts: str) -> str:
    """A keyed digest, which only this database can compute."""
    text = "\x1f".join(parts).encode(errors="surrogatepass")
    return hmac.new(key, text, sha256).hexdigest()[:DIGEST_CHARS]


def receipt_of(unlearn: Unlearn, radius: BlastRadius, key: bytes, *, now_ms: int) -> UnlearnReceipt:
    """The signed receipt of an unlearning whose content is removed."""
    digests: dict[str, list[str]] = {}
    for item in radius.items:
        if item.resource not in KEPT:
            name = str(item.resource)
            digests.setdefault(name, []).append(digest_of(key, name, item.id))
    work = unlearn.work
    receipt = UnlearnReceipt(
        unlearn_id=unlearn.unlearn_id,
        kind=unlearn.target.kind,
        target=digest_of(key, unlearn.target.kind, unlearn.target.id),
        mode=unlearn.mode,
        actor=unlearn.actor,
        started_at_ms=unlearn.created_at_ms,
        finished_at_ms=now_ms,
        counts=radius.counts,
        tombstones=work.tombstones if work else 0,
        scrubbed=work.scrubbed if work else 0,
        digests={name: tuple(sorted(each)) for name, each in digests.items()},
        out_of_reach=OUT_OF_REACH if unlearn.mode is UnlearnMode.ERASE else (),
    )
    return replace(receipt, signature=_signature(receipt, key))


def _signature(receipt: UnlearnReceipt, key: bytes) -> str:
    said = json.dumps(asdict(replace(receipt, signature="")), sort_keys=True)
    return digest_of(key, "receipt", said)


def verify(unit: "Unit", receipt: UnlearnReceipt, *, text: str | None) -> UnlearnVerification:
    """The items of a receipt that are still stored or in use, and records with the given text."""
    key = bytes.fromhex(unit.unlearns.key() or "")
    if not key or not hmac.compare_digest(receipt.signature, _signature(receipt, key)):
        raise coded_error("unlearn/receipt_invalid", pointer="/receipt/signature")
    found = [*_still_there(unit, receipt, key), *(unit.unlearns.holding(text) if text else ())]
    return UnlearnVerification(ok=not found, found=tuple(found))


def _still_there(unit: "Unit", receipt: UnlearnReceipt, key: bytes) -> Iterator[BlastItem]:
    is_erased = receipt.mode is UnlearnMode.ERASE
    relation = "still stored" if is_erased else "still in use"
    for name, digests in receipt.digests.items():
        resource = Resource(name)
        wanted = frozenset(digests)
        for id_ in unit.unlearns.present(
            resource, _digester(key, name), wanted, in_use=not is_erased
        ):
            yield BlastItem(resource=resource, id=id_, relation=relation)


def _digester(key: bytes, name: str) -> Callable[[str], str]:
    return lambda id_: digest_of(key, name, id_)


def plain(receipt: UnlearnReceipt) -> dict[str, Any]:
    """A receipt as a JSON object."""
    return asdict(receipt)
