"""Idempotency keys: a repeated POST under the same key gets the stored answer, and acts once.

Submitting a run stores its receipt in the run's own transaction. Everywhere else the answer is
stored after the act, so a retry after a crash in between acts again: a key without an answer is
released when its daemon is gone, and after a minute in any case. Each user has one key space for
both.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from fastapi.responses import JSONResponse
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from understudy.api.operations import Operation
from understudy.api.services import Services, principal_of
from understudy.core.errors import coded_error
from understudy.core.principal import Principal, Role
from understudy.runs.submission import check_idempotency_key, fingerprint, hash_key

if TYPE_CHECKING:
    from understudy.storage.access import StoredResponse

HEADER: Final = "Idempotency-Key"
REPLAYED: Final = "Idempotency-Replayed"
POLL_S: Final = 0.025
WAIT_S: Final = 2.0
CUT_OFF_MS: Final = 60 * 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class IdempotencyClaim:
    """One request under an idempotency key."""

    key_hash: str
    fingerprint: str
    secret: tuple[str, ...]


def keeps_answers(operation: Operation) -> bool:
    """Whether answers are stored for retries: not for reads and unauthenticated calls, nor if the
    service stores its own receipts.
    """
    is_change = operation.role not in (None, Role.VIEWER)
    return is_change and not operation.own_receipts


def claim_of(request: Request, operation: Operation, name: str) -> IdempotencyClaim | None:
    """The claim of a request; None if it has no key, or if answers are not stored."""
    key = request.headers.get(HEADER)
    if key is None or request.method != "POST" or not keeps_answers(operation):
        return None
    asked = {
        "path": dict(request.path_params),
        # Not from `request.url`, which fails on a query that is not UTF-8.
        "query": request.scope["query_string"].decode("latin-1"),
        "body": getattr(request.state, "body", None),
    }
    return IdempotencyClaim(
        key_hash=hash_key(principal_of(request).user_id, check_idempotency_key(key)),
        fingerprint=fingerprint(name, asked),
        secret=operation.secret,
    )


async def answer_once(
    services: Services, claim: IdempotencyClaim, act: Callable[[], Awaitable[Response]]
) -> Response:
    """The stored answer for a claim, or the answer of executing it now."""
    known = await _take(services, claim)
    if known is not None:
        return JSONResponse(known.body, status_code=known.status or 200, headers={REPLAYED: "true"})
    try:
        response = await act()
        body = _storable(response, claim.secret)
    except BaseException:
        await run_in_threadpool(_abandon, services, claim)
        raise
    await run_in_threadpool(_finish, services, claim, response.status_code, body)
    return response


async def _take(services: Services, claim: IdempotencyClaim) -> "StoredResponse | None":
    """None if this request claimed the key; else the stored answer of the first request."""
    deadline = asyncio.get_running_loop().time() + WAIT_S
    first: StoredResponse | None = None
    was_gone = False
    while True:
        known = await run_in_threadpool(_claim, services, claim)
        if known is None:
            return None
        if known.fingerprint != claim.fingerprint:
            raise coded_error("idempotency/idempotency_conflict")
        if known.status is not None:
            return known
        if first is None:
            first, was_gone = known, await _is_gone(services, known)
        elif asyncio.get_running_loop().time() > deadline:
            # Looked at twice: a daemon that connects to its database again seems to be gone, too.
            if known != first or not (was_gone and await _is_gone(services, known)):
                raise coded_error("idempotency/idempotency_conflict:under_way")
            await run_in_threadpool(_release, services, known)
            continue
        await asyncio.sleep(POLL_S)


async def _is_gone(services: Services, known: "StoredResponse") -> bool:
    return await run_in_threadpool(services.resources.is_gone, known.holder)


def _claim(services: Services, claim: IdempotencyClaim) -> "StoredResponse | None":
    now = services.resources.clock.now_ms()
    with services.resources.units.write() as unit:
        if unit.receipts.get(claim.key_hash) is not None:
            raise coded_error("idempotency/idempotency_conflict")
        asked = (claim.key_hash, claim.fingerprint, now, services.resources.process_id)
        known = unit.responses.claim(*asked)
        if known is not None and _is_over(known, now):
            unit.responses.release(known)
            return unit.responses.claim(*asked)
        return known


def _release(services: Services, known: "StoredResponse") -> None:
    with services.resources.units.write() as unit:
        unit.responses.release(known)


def key_for_receipt(
    services: Services, principal: Principal, header: str | None, body: str | None
) -> str | None:
    """The key of a request whose service stores receipts; a conflict if it is used elsewhere."""
    key = header if header is not None else body
    if key is None:
        return None
    key_hash = hash_key(principal.user_id, check_idempotency_key(key))
    with services.resources.units.read() as unit:
        known = unit.responses.get(key_hash)
    if known is not None and not _is_over(known, services.resources.clock.now_ms()):
        raise coded_error("idempotency/idempotency_conflict")
    return key


def _is_over(known: "StoredResponse", now: int) -> bool:
    age = now - known.created_at_ms
    return known.status is None and age > CUT_OFF_MS


def _finish(services: Services, claim: IdempotencyClaim, status: int, body: Any) -> None:
    with services.resources.units.write() as unit:
        unit.responses.finish(claim.key_hash, status, body, services.resources.process_id)


def _abandon(services: Services, claim: IdempotencyClaim) -> None:
    with services.resources.units.write() as unit:
        unit.responses.abandon(claim.key_hash, services.resources.process_id)


def _storable(response: Response, secret: tuple[str, ...]) -> Any:
    body = json.loads(bytes(response.body))
    return {name: value for name, value in body.items() if name not in secret}
