"""The audit: who did what, who was refused, and in which request."""

from contextvars import ContextVar
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from understudy.core.principal import Principal
from understudy.core.records import OMIT

current_request_id: ContextVar[str] = ContextVar("current_request_id", default="")


class AuditOutcome(StrEnum):
    """How an attempt ended."""

    DONE = "done"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEntry:
    """One attempt to change something. `action` is a noun and a verb, such as `sessions.create`."""

    at_ms: int
    actor: str
    action: str
    resource: str
    resource_id: str
    outcome: AuditOutcome = AuditOutcome.DONE
    version: Annotated[int | None, OMIT] = None
    reason: Annotated[str | None, OMIT] = None
    request_id: str = ""


def done(
    principal: Principal,
    action: str,
    resource_id: str,
    *,
    at_ms: int,
    version: int | None = None,
    reason: str | None = None,
) -> AuditEntry:
    """The entry of an attempt that succeeded, in the request being served."""
    return AuditEntry(
        at_ms=at_ms,
        actor=principal.actor,
        action=action,
        resource=action.partition(".")[0],
        resource_id=resource_id,
        version=version,
        reason=reason,
        request_id=current_request_id.get(),
    )
