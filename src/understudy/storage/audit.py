"""The audit store: entries are added and read, never changed."""

from typing import Any

import sqlalchemy as sa

from understudy.core.audit import AuditEntry, Outcome
from understudy.core.page import Page, PageRequest
from understudy.storage.columns import read_record
from understudy.storage.paging import select_page
from understudy.storage.schema import audit


class AuditStore:
    """Where audit entries are kept; nothing removes them."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def add(self, entry: AuditEntry) -> None:
        """Keep one more entry."""
        values = {
            "at_ms": entry.at_ms,
            "actor": entry.actor,
            "action": entry.action,
            "resource": entry.resource,
            "resource_id": entry.resource_id,
            "outcome": str(entry.outcome),
            "version": entry.version,
            "reason": entry.reason,
            "request_id": entry.request_id,
        }
        self._connection.execute(_INSERT, values)

    def page(
        self, request: PageRequest, *, resource: str | None, actor: str | None
    ) -> Page[AuditEntry]:
        """Entries, newest first."""
        query = sa.select(audit)
        if resource is not None:
            query = query.where(audit.c.resource == resource)
        if actor is not None:
            query = query.where(audit.c.actor == actor)
        return select_page(
            self._connection, query, request, by=(audit.c.number,), read=_read, descending=True
        )


# Put together only once: tool calls add an entry each.
_INSERT = sa.insert(audit)


def _read(row: Any) -> AuditEntry:
    return read_record(row, _entry, what=f"audit entry {row.number}")


def _entry(row: Any) -> AuditEntry:
    return AuditEntry(
        at_ms=row.at_ms,
        actor=row.actor,
        action=row.action,
        resource=row.resource,
        resource_id=row.resource_id,
        outcome=Outcome(row.outcome),
        version=row.version,
        reason=row.reason,
        request_id=row.request_id,
    )
