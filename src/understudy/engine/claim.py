"""The claim of queued work in one statement; DBOS needs five in two transactions, built anew each time.

Tables, order and recovery are those of DBOS: at most one run of a session is in flight, and the
first in its line is the next. Daemons that claim at the same time want the same first rows. The later
one waits for the row lock, finds the row claimed, and leaves it: it never takes the second in line.
"""

import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any, Final, cast

import sqlalchemy as sa
import structlog
from dbos import DBOS
from dbos._core import execute_dequeued_workflow
from dbos._sys_db import WorkflowStatusInternal
from dbos._utils import GlobalParams, generate_uuid

log = structlog.get_logger()

# Waits for the write turn among the writers of this process.
Turn = Callable[[], AbstractContextManager[object]]
MOST_AT_ONCE: Final = 8192
# The literal statuses let SQLite use the partial index over queued and in-flight work.
_CLAIM: Final = """
UPDATE {schema}workflow_status
SET status = 'PENDING', owner_xid = :owner, application_version = :version,
    executor_id = :executor, application_name = :application,
    started_at_epoch_ms = :now, rate_limited = FALSE,
    recovery_attempts = recovery_attempts + 1,
    updated_at = :now
WHERE status = 'ENQUEUED' AND workflow_uuid IN (
    WITH RECURSIVE partitions(key) AS (
        SELECT min(queue_partition_key) FROM {schema}workflow_status
        WHERE queue_name = :queue AND status = 'ENQUEUED' AND status IN ('ENQUEUED', 'PENDING')
            AND queue_partition_key IS NOT NULL
        UNION ALL
        SELECT (
            SELECT min(queue_partition_key) FROM {schema}workflow_status
            WHERE queue_name = :queue AND status = 'ENQUEUED'
                AND status IN ('ENQUEUED', 'PENDING') AND queue_partition_key > partitions.key
        ) FROM partitions WHERE partitions.key IS NOT NULL
    )
    SELECT (
        SELECT workflow_uuid FROM {schema}workflow_status
        WHERE queue_name = :queue AND status = 'ENQUEUED' AND status IN ('ENQUEUED', 'PENDING')
            AND queue_partition_key = partitions.key
            AND (application_version = :version OR application_version IS NULL)
            AND (application_name = :application OR application_name IS NULL)
        ORDER BY priority, created_at, workflow_uuid LIMIT 1
    )
    FROM partitions
    WHERE partitions.key IS NOT NULL AND NOT EXISTS (
        SELECT 1 FROM {schema}workflow_status
        WHERE queue_name = :queue AND status = 'PENDING' AND status IN ('ENQUEUED', 'PENDING')
            AND queue_partition_key = partitions.key
    )
    LIMIT :most
)
RETURNING {columns}, (
    SELECT given.inputs FROM {schema}workflow_input AS given
    WHERE given.workflow_uuid = workflow_status.workflow_uuid
) AS given_inputs
"""
# Columns whose name differs in DBOS's status record.
COLUMNS: Final = {"app_version": "application_version", "app_id": "application_id"}
# By name: a daemon of a newer version may add columns while this one runs.
_CLAIMED: Final = ", ".join(
    COLUMNS.get(name, name) for name in WorkflowStatusInternal.__annotations__
)
# DBOS has a schema of its own where there are schemas.
_CLAIMS: Final[Mapping[str, sa.TextClause]] = {
    "sqlite": sa.text(_CLAIM.format(schema="", columns=_CLAIMED)),
    "postgresql": sa.text(_CLAIM.format(schema="dbos.", columns=_CLAIMED)),
}


def start_due(
    instance: DBOS,
    database: sa.Engine,
    queue: str,
    application: str,
    turn: Turn,
) -> None:
    """Claim the first run of every session that has none in flight, and start them.

    On SQLite the claim waits for its turn among the writers: beside them, the busy back-off would let
    it starve, because they pass the write lock on without a pause.
    """
    owner = generate_uuid()
    with turn(), database.begin() as connection:
        claimed = claim(connection, queue, application, owner)
    for status in sorted(claimed, key=lambda each: str(each["queue_partition_key"])):
        try:
            execute_dequeued_workflow(instance, status, owner)
        except Exception:
            # The watch for stranded work puts it back.
            log.exception("engine.not_started", work_id=status["workflow_uuid"])


def claim(
    connection: sa.Connection, queue: str, application: str, owner: str
) -> list[WorkflowStatusInternal]:
    """Claim the first run of every session that has none in flight, for an execution of `owner`."""
    values = {
        "now": time.time_ns() // 1_000_000,
        "owner": owner,
        "version": GlobalParams.app_version,
        "executor": GlobalParams.executor_id,
        "application": application,
        "queue": queue,
        "most": MOST_AT_ONCE,
    }
    found = connection.execute(_CLAIMS[connection.dialect.name], values)
    return list(map(_status, found.mappings()))


def _status(row: sa.RowMapping) -> WorkflowStatusInternal:
    values: dict[str, Any] = {
        name: row[COLUMNS.get(name, name)] for name in WorkflowStatusInternal.__annotations__
    }
    inputs = row["given_inputs"]
    values["inputs"] = row["inputs"] if inputs is None else inputs
    values["is_debounced"] = bool(row["is_debounced"])
    return cast("WorkflowStatusInternal", values)
