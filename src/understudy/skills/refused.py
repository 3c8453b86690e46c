"""Refused changes in the audit, for the paths that write none themselves."""

import structlog

from understudy.core.audit import AuditEntry, Outcome
from understudy.core.clock import Clock
from understudy.core.errors import UnderstudyError
from understudy.core.request import current_request_id
from understudy.core.text import preview, printable
from understudy.sessions.ports import SessionUnit, Units
from understudy.skills.author import Author

log = structlog.get_logger()

MAX_REF_CHARS = 200


def record_refusal(
    units: Units[SessionUnit],
    clock: Clock,
    author: Author,
    action: str,
    ref: str,
    error: UnderstudyError,
) -> None:
    """Write down that a change was refused; a refusal stands whether or not this can be written."""
    run = f" in {author.run_id}" if author.run_id else ""
    entry = AuditEntry(
        at_ms=clock.now_ms(),
        actor=author.principal.actor,
        action=action,
        resource=action.partition(".")[0],
        resource_id=preview(printable(ref), MAX_REF_CHARS),
        outcome=Outcome.REFUSED,
        reason=f"{error.domain}/{error.code}{run}",
        request_id=current_request_id.get(),
    )
    try:
        with units.write() as unit:
            unit.audit.add(entry)
    except Exception:
        log.exception("audit.lost", action=entry.action, reason=entry.reason)
