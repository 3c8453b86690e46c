"""Audit entries of refused changes, for paths that write none themselves."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import structlog

from understudy.core.audit import AuditEntry, AuditOutcome, current_request_id
from understudy.core.clock import Clock
from understudy.core.errors import FieldError, Invalid, UnderstudyError
from understudy.core.principal import Principal
from understudy.core.text import and_more, preview, printable

if TYPE_CHECKING:
    from understudy.storage.unit import Unit, Units

log = structlog.get_logger()

MAX_REF_CHARS: Final = 200
# The error of the guard, whose field errors are the broken rules.
UNSAFE: Final = "skills/skill_unsafe"
MAX_RULES: Final = 20


def with_rules(reason: str, errors: Sequence[FieldError]) -> str:
    """The reason of a refusal for the audit; for the guard, with the broken rules."""
    rules = sorted({error.code for error in errors})
    if reason != UNSAFE or not rules:
        return reason
    told = and_more(rules[:MAX_RULES], len(rules) - MAX_RULES)
    return f"{reason}: {', '.join(told)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedChange:
    """A refused change: the caller, the reference as given, and the error."""

    principal: Principal
    action: str
    ref: str
    error: UnderstudyError
    # Set only when a run acts.
    run_id: str | None = None

    @property
    def reason(self) -> str:
        """The reason as the audit has it."""
        errors = self.error.errors if isinstance(self.error, Invalid) else ()
        run = f" in {self.run_id}" if self.run_id else ""
        return with_rules(f"{self.error.domain}/{self.error.code}", errors) + run


def record_refusal(
    units: "Units",
    clock: Clock,
    change: RefusedChange,
    *,
    named: Callable[["Unit"], str] | None = None,
) -> None:
    """Write the audit entry of a refusal; the refusal stands even if this fails.

    The resource is `named`, or as the caller gave it.
    """
    entry = AuditEntry(
        at_ms=clock.now_ms(),
        actor=change.principal.actor,
        action=change.action,
        resource=change.action.partition(".")[0],
        resource_id="",
        outcome=AuditOutcome.REFUSED,
        reason=change.reason,
        request_id=current_request_id.get(),
    )
    try:
        with units.write() as unit:
            name = change.ref if named is None else named(unit)
            shown = preview(printable(name), MAX_REF_CHARS)
            unit.audit.add(replace(entry, resource_id=shown))
    except Exception:
        log.exception("audit.lost", action=entry.action, reason=entry.reason)
