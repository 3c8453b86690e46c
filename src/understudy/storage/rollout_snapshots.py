"""Rollouts and their snapshots as rows and back, and the queries of snapshots."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Final

import sqlalchemy as sa

from understudy.core.page import Page, PageRequest
from understudy.core.records import parsed_strictly
from understudy.rollout.model import LIVE, Definition, Rollout, Snapshot, Stage, lost_definition
from understudy.sessions.learning_scopes import LearningScope
from understudy.skills.catalogue_entry import folded
from understudy.storage.rows import insert_new, read_record, readable, select_page, to_row
from understudy.storage.schema import rollout_definitions as definitions
from understudy.storage.schema import rollout_snapshots as table
from understudy.storage.schema import rollouts
from understudy.storage.schema.rollouts import MOUNTED
from understudy.storage.visible_connection import VisibleConnection

# The reason of a hold whose stored reason does not decode.
HELD_UNREAD: Final = "it was held, and why cannot be read"
# The largest integer that both databases take.
_MOST: Final = 2**31 - 1


def rollout_row(rollout: Rollout) -> dict[str, Any]:
    """All columns of a rollout."""
    row = to_row(rollout, rollouts)
    del row["body"]["source_scope"]
    return row | {
        "folded_name": folded(rollout.skill_name),
        "source_scope_key": rollout.source_scope.key,
        "fingerprint": rollout.fingerprint,
        "is_flagged": rollout.is_flagged,
    }


def read_rollout(row: Any) -> Rollout:
    """The rollout in a row, or `DamagedRecord`."""
    return read_record(row, lambda it: _rollout(it._asdict()), what=f"rollout {row.skill_name}")


def _rollout(row: Mapping[str, Any]) -> Rollout:
    body = row["body"]
    rollout = parsed_strictly(
        Rollout,
        {
            **body,
            **_columns(row),
            "definition": {**body["definition"], "skill_name": row["skill_name"]},
        },
    )
    if rollout.fingerprint != row["fingerprint"]:
        # Evidence belongs to a definition; one that was edited outside the daemon has none.
        raise ValueError("the definition is not the one that was kept")
    return rollout


def _columns(row: Mapping[str, Any]) -> dict[str, Any]:
    """The columns that are fields of the record."""
    columns = {name: row[name] for name in Rollout.__slots__ if name in row}
    return {**columns, "source_scope": asdict(LearningScope.from_key(row["source_scope_key"]))}


def read_remnant(row: Any, said: Any) -> Rollout:
    """The fields of a damaged rollout that its columns still give, or `DamagedRecord`."""
    return read_record(
        row,
        lambda it: _remnant(it._asdict(), said),
        what=f"rollout {row.skill_name} beside its body",
    )


def _remnant(row: Mapping[str, Any], said: Any) -> Rollout:
    is_live, is_flagged = Stage(row["status"]) in LIVE, bool(row["is_flagged"])
    # A person may have held it, and then only a person may release it.
    is_held = is_flagged and is_live
    return parsed_strictly(
        Rollout,
        {
            **_columns(row),
            "definition": asdict(_kept_definition(row, said)),
            "attempt_began_at_ms": row["updated_at_ms"],
            "stage_began_at_ms": row["updated_at_ms"],
            "held_reason": HELD_UNREAD if is_held else None,
            "is_held_by_hand": is_held,
            "revoked_at_ms": None if is_live else row["updated_at_ms"],
            "is_demoted": is_flagged and not is_live,
        },
    )


def _kept_definition(row: Mapping[str, Any], said: Any) -> Definition:
    lost = lost_definition(row["skill_name"])
    try:
        found = parsed_strictly(Definition, {**said, "skill_name": row["skill_name"]})
    except (TypeError, ValueError):
        return lost
    return found if found.fingerprint == row["fingerprint"] else lost


def snapshot_row(snapshot: Snapshot) -> dict[str, Any]:
    """All columns of a snapshot; its definition is kept in a table of its own."""
    row = rollout_row(snapshot.record)
    return {
        "skill_name": snapshot.skill_name,
        "number": snapshot.number,
        "status": str(snapshot.record.status),
        "attempt": snapshot.record.attempt,
        "fingerprint": snapshot.record.fingerprint,
        "recorded_at_ms": snapshot.recorded_at_ms,
        "body": row | {"body": {**row["body"], "definition": None}},
    }


def definition_row(definition: Definition) -> dict[str, Any]:
    """All columns of a definition that snapshots share."""
    return {
        "skill_name": definition.skill_name,
        "fingerprint": definition.fingerprint,
        "body": asdict(definition),
    }


def read_snapshot(row: Any) -> Snapshot:
    """The snapshot in a row with its definition, or `DamagedRecord`."""
    return read_record(row, _snapshot, what=f"snapshot {row.number} of rollout {row.skill_name}")


def _snapshot(row: Any) -> Snapshot:
    stored = row.body
    record = _rollout({**stored, "body": {**stored["body"], "definition": row.definition}})
    told = (record.skill_name, str(record.status), record.fingerprint)
    if told != (row.skill_name, row.status, row.fingerprint):
        raise ValueError("the snapshot is not of this rollout")
    return Snapshot(
        skill_name=row.skill_name,
        number=row.number,
        record=record,
        recorded_at_ms=row.recorded_at_ms,
    )


class SnapshotQueries:
    """Snapshots in one table, and their definitions in another, once for each fingerprint."""

    _connection: VisibleConnection

    def add_snapshot(self, snapshot: Snapshot) -> None:
        """Add a snapshot, and its definition where that is not stored yet."""
        insert_new(self._connection, definitions, definition_row(snapshot.record.definition))
        self._connection.execute(sa.insert(table), snapshot_row(snapshot))

    def snapshot(self, skill_name: str, number: int) -> Snapshot | None:
        """The snapshot of a revision."""
        if not 0 < number <= _MOST:
            return None
        values = {"wanted": skill_name, "of_number": number}
        row = self._connection.execute(_SNAPSHOT, values).first()
        return None if row is None else read_snapshot(row)

    def _kept_definition(self, skill_name: str, fingerprint: str) -> Any:
        """The stored definition of a fingerprint as JSON; None without one."""
        values = {"wanted": skill_name, "of": fingerprint}
        return self._connection.execute(_SAID, values).scalar()

    def snapshots(self, skill_name: str, request: PageRequest) -> Page[Snapshot]:
        """The snapshots of a rollout, newest first; damaged ones are left out."""
        query = _SNAPSHOTS.where(table.c.skill_name == skill_name)
        by = (table.c.number,)
        return select_page(
            self._connection, query, request, by=by, read=read_snapshot, descending=True
        )

    def last_other(self, skill_name: str, number: int, fingerprint: str) -> Snapshot | None:
        """The newest snapshot before a revision that has another definition."""
        values = {"wanted": skill_name, "of_number": number, "but": fingerprint}
        row = self._connection.execute(_LAST_OTHER, values).first()
        return None if row is None else read_snapshot(row)

    def active_snapshots(self, skill_name: str, *, limit: int) -> tuple[Snapshot, ...]:
        """The last active snapshot of each attempt, newest first."""
        values = {"wanted": skill_name, "most": limit}
        rows = self._connection.execute(_ACTIVE, values).all()
        return tuple(readable(rows, read_snapshot))


# Built once.
_SNAPSHOTS: Final = sa.select(table, definitions.c.body.label("definition")).join(
    definitions,
    sa.and_(
        definitions.c.skill_name == table.c.skill_name,
        definitions.c.fingerprint == table.c.fingerprint,
    ),
    # A snapshot without a definition is reported as damaged.
    isouter=True,
)
_SAID: Final = sa.select(definitions.c.body).where(
    definitions.c.skill_name == sa.bindparam("wanted"),
    definitions.c.fingerprint == sa.bindparam("of"),
)
_SNAPSHOT: Final = _SNAPSHOTS.where(
    table.c.skill_name == sa.bindparam("wanted"),
    table.c.number == sa.bindparam("of_number"),
)
_LAST_OTHER: Final = (
    _SNAPSHOTS.where(
        table.c.skill_name == sa.bindparam("wanted"),
        table.c.number < sa.bindparam("of_number"),
        table.c.fingerprint != sa.bindparam("but"),
    )
    .order_by(table.c.number.desc())
    .limit(1)
)
_LAST_IN_FORCE: Final = (
    sa.select(sa.func.max(table.c.number))
    .where(table.c.skill_name == sa.bindparam("wanted"), MOUNTED)
    .group_by(table.c.attempt)
)
_ACTIVE: Final = (
    _SNAPSHOTS.where(
        table.c.skill_name == sa.bindparam("wanted"),
        table.c.number.in_(_LAST_IN_FORCE),
    )
    .order_by(table.c.number.desc())
    .limit(sa.bindparam("most"))
)
