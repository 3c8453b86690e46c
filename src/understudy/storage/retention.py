"""Retention by table: rows are pruned in small batches, oldest first."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import sqlalchemy as sa

from understudy.mailboxes.model import MessageStatus
from understudy.runs.model import DeliveryStatus
from understudy.storage.chains import Chains
from understudy.storage.schema import (
    artifacts,
    background_tasks,
    debug_requests,
    deliveries,
    delivery_tries,
    messages,
    receipts,
    runs,
)
from understudy.storage.visible_connection import VisibleConnection


@dataclass(frozen=True, slots=True, kw_only=True)
class RetainedRows:
    """Rows of a table that are pruned by age, and the dependent rows deleted before them."""

    key: "sa.Column[Any]"
    age: "sa.Column[Any]"
    # Only rows that are no longer needed.
    where: "sa.ColumnElement[bool] | None" = None
    parts: "tuple[sa.Column[Any], ...]" = ()


def _of_ended_run(run_id: "sa.Column[Any]") -> "sa.ColumnElement[bool]":
    # Correlated: a list of all ended runs would be made even where nothing is old.
    return sa.exists().where(runs.c.run_id == run_id, runs.c.finished_at_ms.is_not(None))


# By the names of the settings.
RETAINED: Final[Mapping[str, RetainedRows]] = {
    "captures_days": RetainedRows(key=debug_requests.c.number, age=debug_requests.c.at_ms),
    "artifacts_days": RetainedRows(
        key=artifacts.c.artifact_id,
        age=artifacts.c.created_at_ms,
        where=_of_ended_run(artifacts.c.run_id),
    ),
    "receipts_days": RetainedRows(key=receipts.c.key_hash, age=receipts.c.created_at_ms),
    "deliveries_days": RetainedRows(
        key=deliveries.c.delivery_id,
        age=deliveries.c.delivered_at_ms,
        where=deliveries.c.status == DeliveryStatus.DELIVERED,
        parts=(delivery_tries.c.delivery_id,),
    ),
    # Cascades to its output.
    "background_tasks_days": RetainedRows(
        key=background_tasks.c.task_id,
        age=background_tasks.c.ended_at_ms,
        where=background_tasks.c.ended_at_ms.is_not(None),
    ),
    "messages_days": RetainedRows(
        key=messages.c.message_id,
        age=messages.c.updated_at_ms,
        where=messages.c.status.in_((MessageStatus.ACKED, MessageStatus.DEAD)),
    ),
}
AUDIT: Final = "audit_days"


class RetentionStore:
    """Prunes rows past their retention time."""

    def __init__(self, connection: VisibleConnection, chains: Chains) -> None:
        self._connection = connection
        self._chains = chains

    def prune(self, name: str, *, before_ms: int, most: int) -> int:
        """Delete the oldest rows from before a time, at most `most`."""
        if name == AUDIT:
            return self._chains.prune_audit(before_ms=before_ms, most=most)
        rows = RETAINED[name]
        old = (
            sa.select(rows.key)
            .where(rows.age < before_ms, *(() if rows.where is None else (rows.where,)))
            .order_by(rows.age)
            .limit(most)
        )
        keys = self._connection.execute(old).scalars().all()
        for key in (*rows.parts, rows.key) if keys else ():
            self._connection.execute(sa.delete(key.table).where(key.in_(keys)))
        return len(keys)
