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
    # When its text was erased; the digest of what it said stays.
    erased_at_ms: Annotated[int | None, OMIT] = None


class LinkProblem(StrEnum):
    """What is wrong with a row of a digest chain."""

    EDITED = "edited"
    REMOVED = "removed"
    ADDED = "added"
    # The head that somebody noted elsewhere is a link of no chain.
    HEAD_UNKNOWN = "head_unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class BadLink:
    """The first row whose digest does not match: the chain, its place there, the row's key."""

    chain: str
    problem: LinkProblem
    place: Annotated[int | None, OMIT] = None
    row: Annotated[str | None, OMIT] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainReport:
    """A check of a digest chain. `head` is its last link: noted elsewhere, it proves the rest."""

    checked: int
    # The newest rows, which have no link yet: they are sealed within a second.
    unsealed: int
    # Rows whose text was erased and whose digest still matches.
    erased: int
    # Rows that retention removed at the start, and rows from before there was a chain.
    pruned: int
    unchained: int
    head: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditVerification:
    """Whether the digest chains of the audit and of skill versions are intact."""

    ok: bool
    first_bad: Annotated[BadLink | None, OMIT] = None
    audit: ChainReport
    skill_versions: ChainReport


def done(
    principal: Principal,
    action: str,
    resource_id: str,
    *,
    at_ms: int,
    version: int | None = None,
    reason: str | None = None,
) -> AuditEntry:
    """The audit entry of a successful attempt, in the request being served."""
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
