"""Errors become answers, and refused changes become audit entries."""

from dataclasses import replace
from typing import Final

import structlog
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from understudy.api.methods import allow_header
from understudy.api.operations import OPERATIONS, SAFE_METHODS, action_of, canonical
from understudy.api.parts import AppParts, parts_of
from understudy.api.problems import Refusal, refusal_of
from understudy.core.audit import AuditEntry, Outcome
from understudy.core.errors import UnderstudyError
from understudy.core.request import current_request_id

log = structlog.get_logger()

METHOD_NOT_ALLOWED: Final = 405
AUDITED: Final = frozenset({400, 401, 403, 409, 413, 429})
NOBODY: Final = "anonymous"
MAX_ID_CHARS: Final = 400


async def answer_error(request: Request, error: Exception) -> Response:
    """The problem that an error is, after writing down that a change was refused."""
    refusal = refusal_of(error)
    if refusal.status == METHOD_NOT_ALLOWED:
        allowed = allow_header(request.app.router, request.scope) or ""
        refusal = replace(refusal, headers={**refusal.headers, "Allow": allowed})
    entry = refused_entry(request, error, refusal)
    if entry is not None:
        await run_in_threadpool(_record, parts_of(request), entry)
    return refusal.response()


def refused_entry(request: Request, error: Exception, refusal: Refusal) -> AuditEntry | None:
    """What the audit should know of a refusal; None for reads and mere mistakes."""
    operation_id = getattr(request.scope.get("route"), "operation_id", None)
    if (
        operation_id is None
        or request.method in SAFE_METHODS
        or refusal.status not in AUDITED
        or not isinstance(error, UnderstudyError)
    ):
        return None
    principal = getattr(request.state, "principal", None)
    action = action_of(operation_id)
    return AuditEntry(
        at_ms=parts_of(request).clock.now_ms(),
        actor=principal.actor if principal else NOBODY,
        action=action,
        resource=action.partition(".")[0],
        resource_id=_resource_id(request, operation_id),
        outcome=Outcome.REFUSED,
        reason=refusal.reason,
        request_id=current_request_id.get(),
    )


def _resource_id(request: Request, operation_id: str) -> str:
    named = "/".join(str(value) for value in request.path_params.values())
    field = OPERATIONS[canonical(operation_id)].body_id
    body = getattr(request.state, "body", None)
    if field is not None and isinstance(body, dict):
        named = str(body.get(field) or "")
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in named)[
        :MAX_ID_CHARS
    ]


def _record(parts: AppParts, entry: AuditEntry) -> None:
    try:
        with parts.units.write() as unit:
            unit.audit.add(entry)
    except Exception:
        log.exception("audit.lost", action=entry.action, reason=entry.reason)
