"""semantic keys of stored learnings and candidates, computed again.

A key made by the rule before this revision, which knew only `is`, `=` and `:`, would find neither
the duplicates nor the conflicts of a statement whose key is made today.
"""

from collections.abc import Iterator, Sequence
from hashlib import sha256
from typing import Any

import sqlalchemy as sa
from alembic import op

from understudy.learnings.keys import key_of
from understudy.storage.rows import Json

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None

# Rows in memory at a time.
BATCH = 1000
LEARNINGS = sa.table(
    "learnings",
    sa.column("learning_id"),
    sa.column("key_digest"),
    sa.column("subject_digest"),
    sa.column("body", Json),
)
CANDIDATES = sa.table(
    "learning_candidates",
    sa.column("candidate_id"),
    sa.column("origin"),
    sa.column("source_run_id"),
    sa.column("scope_key"),
    sa.column("kind"),
    sa.column("key_digest"),
    sa.column("body", Json),
)
# No two candidates that the daemon captured from a run have the same values here.
PROPOSAL = (
    CANDIDATES.c.source_run_id,
    CANDIDATES.c.scope_key,
    CANDIDATES.c.kind,
    CANDIDATES.c.key_digest,
)


def upgrade() -> None:
    connection = op.get_bind()
    for rows in _batches(connection, LEARNINGS):
        _save(connection, LEARNINGS, [_rekeyed(row) for row in rows])
    for rows in _batches(connection, CANDIDATES):
        taken = _proposals(connection, {row.source_run_id for row in rows})
        changed = []
        for row in rows:
            values = _rekeyed(row)
            if values is None:
                continue
            proposal = (row.source_run_id, row.scope_key, row.kind, values["key_digest"])
            # A candidate that would become the twin of another of its run keeps its key.
            if values["key_digest"] == row.key_digest or proposal not in taken:
                taken.add(proposal)
                changed.append({it: values[it] for it in values if it != "subject_digest"})
        _save(connection, CANDIDATES, changed)


def _batches(connection: sa.Connection, table: sa.TableClause) -> Iterator[Sequence[Any]]:
    """All rows of a table in the order of its first column, a bounded number at a time."""
    primary, last = next(iter(table.c)), ""
    while True:
        query = sa.select(table).where(primary > last).order_by(primary).limit(BATCH)
        rows = connection.execute(query).all()
        if not rows:
            return
        yield rows
        last = rows[-1][0]


def _proposals(connection: sa.Connection, runs: set[str | None]) -> set[tuple[Any, ...]]:
    mine = sa.and_(CANDIDATES.c.origin == "daemon", CANDIDATES.c.source_run_id.in_(runs - {None}))
    return {tuple(row) for row in connection.execute(sa.select(*PROPOSAL).where(mine))}


def _rekeyed(row: Any) -> dict[str, Any] | None:
    """The new values of a row; None where its key stays or its body is damaged."""
    content = row.body.get("content") if isinstance(row.body, dict) else None
    if not isinstance(content, str):
        return None
    key = key_of(content)
    fields = {"semantic_key": key.semantic, "subject_key": key.subject}
    if all(row.body.get(name) == value for name, value in fields.items()):
        return None
    return {
        "row_id": row[0],
        "key_digest": _digest(key.semantic),
        "subject_digest": _digest(key.subject),
        "body": row.body | fields,
    }


def _save(
    connection: sa.Connection, table: sa.TableClause, rows: Sequence[dict[str, Any] | None]
) -> None:
    changed = [row for row in rows if row is not None]
    if changed:
        values: dict[str, Any] = {
            name: sa.bindparam(name) for name in changed[0] if name != "row_id"
        }
        primary = next(iter(table.c))
        connection.execute(
            sa.update(table).where(primary == sa.bindparam("row_id")).values(values), changed
        )


def _digest(key: str | None) -> str | None:
    return None if key is None else sha256(key.encode(errors="surrogatepass")).hexdigest()
