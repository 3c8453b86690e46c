"""Refused changes in the audit, for the paths that write none themselves."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final, TypeVar

import structlog

from understudy.core.audit import AuditEntry, Outcome
from understudy.core.clock import Clock
from understudy.core.errors import FieldError, Invalid, UnderstudyError
from understudy.core.request import current_request_id
from understudy.core.text import preview, printable
from understudy.sessions.ports import SessionUnit, Units
from understudy.skills.author import Author
from understudy.skills.checks import LOCAL, PROMOTED, find, knows
from understudy.skills.ports import SkillUnit

log = structlog.get_logger()

MAX_REF_CHARS: Final = 200
# The refusal of the guard, whose errors are the rules that were broken.
UNSAFE: Final = "skills/skill_unsafe"
MAX_RULES: Final = 20

U = TypeVar("U", bound=SessionUnit)


def as_written(unit: SessionUnit, author: Author, ref: str) -> str:
    """What was to be changed, as the caller put it."""
    del unit, author
    return ref


def known_id(unit: SkillUnit, author: Author, ref: str) -> str:
    """The id of the skill that a caller named, if they may know of it; else what they wrote."""
    if ref.startswith((LOCAL, PROMOTED)):
        return ref
    try:
        skill = find(unit, ref)
        if skill is None or not knows(unit, skill, author.principal, agent_id=author.agent_id):
            return ref
    except UnderstudyError:
        return ref
    return skill.skill_id


def with_rules(reason: str, errors: Sequence[FieldError]) -> str:
    """Why something was refused, for the audit: of what the guard stopped, also by which rules."""
    rules = sorted({error.code for error in errors})
    if reason != UNSAFE or not rules:
        return reason
    more = len(rules) - MAX_RULES
    return (
        f"{reason}: {', '.join([*rules[:MAX_RULES], *([f'and {more} more'] if more > 0 else [])])}"
    )


def record_refusal(
    units: Units[U],
    clock: Clock,
    author: Author,
    action: str,
    ref: str,
    error: UnderstudyError,
    named: Callable[[U, Author, str], str] = as_written,
) -> None:
    """Write down that a change was refused; a refusal stands whether or not this can be written."""
    run = f" in {author.run_id}" if author.run_id else ""
    errors = error.errors if isinstance(error, Invalid) else ()
    reason = with_rules(f"{error.domain}/{error.code}", errors)
    entry = AuditEntry(
        at_ms=clock.now_ms(),
        actor=author.principal.actor,
        action=action,
        resource=action.partition(".")[0],
        resource_id="",
        outcome=Outcome.REFUSED,
        reason=f"{reason}{run}",
        request_id=current_request_id.get(),
    )
    try:
        with units.write() as unit:
            shown = preview(printable(named(unit, author, ref)), MAX_REF_CHARS)
            unit.audit.add(replace(entry, resource_id=shown))
    except Exception:
        log.exception("audit.lost", action=entry.action, reason=entry.reason)
