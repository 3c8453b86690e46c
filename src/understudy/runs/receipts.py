"""Asking for the same thing twice under one key: the first answer counts."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from understudy.core.errors import coded_error
from understudy.core.principal import Principal
from understudy.runs.model import Receipt, Run, require_run
from understudy.runs.submission import check_idempotency_key, fingerprint, hash_key

if TYPE_CHECKING:
    from understudy.storage.unit import Unit


def receipt_for(
    principal: Principal,
    operation: str,
    request: Mapping[str, Any],
    *,
    key: str | None,
    at_ms: int,
) -> Receipt | None:
    """The receipt of a request, not kept yet; None when it came without a key."""
    if key is None:
        return None
    return Receipt(
        key_hash=hash_key(principal.user_id, check_idempotency_key(key)),
        fingerprint=fingerprint(operation, request),
        resource_id="",
        created_at_ms=at_ms,
    )


def known_run(unit: "Unit", receipt: Receipt | None) -> Run | None:
    """The run of the first request under the same key; a conflict if that was another request."""
    known = None if receipt is None else unit.receipts.get(receipt.key_hash)
    if known is None or receipt is None:
        return None
    if known.fingerprint != receipt.fingerprint:
        raise coded_error("idempotency/idempotency_conflict")
    return require_run(unit, known.resource_id)


def keep_receipt(unit: "Unit", receipt: Receipt | None, run: Run) -> None:
    """Remember which run a key led to."""
    if receipt is not None and not unit.receipts.add(replace(receipt, resource_id=run.run_id)):
        raise coded_error("idempotency/idempotency_conflict")
