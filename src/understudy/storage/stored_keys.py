"""Semantic keys of stored learnings and candidates, made anew after their rules have changed."""

from collections.abc import Sequence
from typing import Any, Final

import sqlalchemy as sa

from understudy.learnings.keys import KEY_RULES, key_of
from understudy.storage.engine import Dialect
from understudy.storage.learning_rows import digest_of
from understudy.storage.schema import learning_candidates as candidates
from understudy.storage.schema.learnings import BY_DAEMON
from understudy.storage.visible_connection import VisibleConnection

# No two candidates that the daemon captured from a run have the same values here.
_PROPOSAL: Final = (
    candidates.c.source_run_id,
    candidates.c.scope_key,
    candidates.c.kind,
    candidates.c.key_digest,
)


def renew_keys(
    connection: VisibleConnection, dialect: Dialect, table: sa.Table, *, limit: int
) -> int:
    """Make the keys of some rows anew that older rules made; answers how many rows there were.

    Each row has the version of its rules, so what a stop interrupts goes on with the next call.
    """
    old = sa.select(table).where(table.c.key_rules < KEY_RULES).limit(limit)
    rows = connection.execute(dialect.locked(old)).all()
    if not rows:
        return 0
    (primary,) = table.primary_key
    taken = _proposals(connection, rows) if table is candidates else set()
    for row in rows:
        values = _renewed(row, table)
        # A candidate that would become the twin of another of its run keeps its key.
        if values and _claim(taken, row, values["key_digest"], table):
            changed = sa.update(table).where(primary == row[0]).values(values)
            connection.execute(changed)
    done = sa.update(table).where(primary.in_([row[0] for row in rows]))
    connection.execute(done.values(key_rules=KEY_RULES))
    return len(rows)


def _renewed(row: Any, table: sa.Table) -> dict[str, Any] | None:
    """The new values of a row; None where its key stays or its body is damaged."""
    content = row.body.get("content") if isinstance(row.body, dict) else None
    if not isinstance(content, str):
        return None
    key = key_of(content)
    fields = {"semantic_key": key.semantic, "subject_key": key.subject}
    if all(row.body.get(name) == value for name, value in fields.items()):
        return None
    subject = None if key.subject is None else digest_of(key.subject)
    return {
        "key_digest": digest_of(key.semantic),
        "body": row.body | fields,
        **({"subject_digest": subject} if "subject_digest" in table.c else {}),
    }


def _claim(taken: set[tuple[Any, ...]], row: Any, digest: str, table: sa.Table) -> bool:
    """Whether a row may have this key; from then on no other candidate of its run may."""
    if table is not candidates or digest == row.key_digest:
        return True
    proposal = (row.source_run_id, row.scope_key, row.kind, digest)
    if proposal in taken:
        return False
    taken.add(proposal)
    return True


def _proposals(connection: VisibleConnection, rows: Sequence[Any]) -> set[tuple[Any, ...]]:
    runs = {row.source_run_id for row in rows} - {None}
    mine = sa.select(*_PROPOSAL).where(BY_DAEMON, candidates.c.source_run_id.in_(runs))
    return {tuple(row) for row in connection.execute(mine)}
