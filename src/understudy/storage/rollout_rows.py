"""Rollouts and their snapshots as rows, and back."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from understudy.core.records import parsed_strictly
from understudy.rollout.model import LIVE, Definition, Rollout, Snapshot, Stage, lost_definition
from understudy.sessions.learning_scopes import LearningScope
from understudy.skills.catalogue_entry import folded
from understudy.storage.rows import read_record, to_row
from understudy.storage.schema import rollouts

# The reason of a hold whose own reason cannot be read.
HELD_UNREAD = "it was held, and why cannot be read"


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
    return read_record(row, lambda it: _rollout(it._mapping), what=f"rollout {row.skill_name}")  # noqa: SLF001


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
        # Evidence is about a definition; one that was changed outside the daemon has none.
        raise ValueError("the definition is not the one that was kept")
    return rollout


def _columns(row: Mapping[str, Any]) -> dict[str, Any]:
    """The columns that are fields of the record."""
    columns = {name: row[name] for name in Rollout.__slots__ if name in row}
    return {**columns, "source_scope": asdict(LearningScope.from_key(row["source_scope_key"]))}


def read_remnant(row: Any, said: Any) -> Rollout:
    """What the columns of a row still tell of a rollout, or `DamagedRecord`."""
    return read_record(
        row,
        lambda it: _remnant(it._mapping, said),  # noqa: SLF001
        what=f"rollout {row.skill_name} beside its body",
    )


def _remnant(row: Mapping[str, Any], said: Any) -> Rollout:
    is_live, is_flagged = Stage(row["status"]) in LIVE, bool(row["is_flagged"])
    # A person may have held it, and then only a person releases it.
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
