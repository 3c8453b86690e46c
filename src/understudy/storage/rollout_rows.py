"""Rollouts, what happened to them and what speaks for them as rows, and back."""

from collections.abc import Mapping
from dataclasses import asdict
from types import SimpleNamespace
from typing import Any, Final

from understudy.rollout.model import (
    Definition,
    EvidenceKind,
    EvidenceRecord,
    LifecycleEvent,
    Proof,
    Rollout,
    RolloutEventName,
    Snapshot,
    lost_definition,
)
from understudy.rollout.stages import LIVE, Stage
from understudy.rollout.trials.trial import Trial, TrialState
from understudy.sessions.learning_scopes import LearningScope
from understudy.skills.catalogue_entry import folded
from understudy.skills.runtime_settings import RuntimeSettings, SkillContext
from understudy.storage.columns import fields_of, list_of, optional_object, read_record

# Columns that are fields of the record as they are.
PLAIN: Final[Mapping[str, type[Any]]] = {
    "skill_name": str,
    "source_learning_id": str,
    "digest": str,
    "attempt": int,
    "revision": int,
    "promoted_at_ms": int,
    "promoted_by": str,
    "updated_at_ms": int,
}
# What the body says beside the definition.
ENDED: Final = {"held_reason": str, "revoked_at_ms": int, "revoked_reason": str}
BEGAN: Final = {"attempt_began_at_ms": int, "stage_began_at_ms": int}
FLAGS: Final = {"is_held_by_hand": bool, "is_demoted": bool}
SAID: Final = {"description": str, "instructions": str}
SAID_PERHAPS: Final = {"when_to_use": str, "version": str}
CHOICES: Final = {"agent_profile": str, "provider": str, "model": str, "fallback_model": str}
HAPPENED: Final = {"actor": str, "to_status": str}
HAPPENED_PERHAPS: Final = {
    "from_status": str,
    "rollout_kind": str,
    "run_id": str,
    "session_id": str,
    "success": bool,
    "definition_fingerprint": str,
    "reason": str,
}
# Why one is held whose own reason cannot be read.
HELD_UNREAD: Final = "it was held, and why cannot be read"


def rollout_row(rollout: Rollout) -> dict[str, Any]:
    """All columns of a rollout."""
    return {
        **{name: getattr(rollout, name) for name in PLAIN},
        "folded_name": folded(rollout.skill_name),
        "source_scope_key": rollout.source_scope.key,
        "status": str(rollout.status),
        "fingerprint": rollout.fingerprint,
        "is_flagged": rollout.is_flagged,
        "body": {
            **{name: getattr(rollout, name) for name in (*ENDED, *BEGAN, *FLAGS)},
            "definition": asdict(rollout.definition),
        },
    }


def read_rollout(row: Any) -> Rollout:
    """The rollout in a row, or `DamagedRecord`."""
    return read_record(row, _rollout, what=f"rollout {row.skill_name}")


def _rollout(row: Any) -> Rollout:
    rollout = Rollout(
        **fields_of({name: getattr(row, name) for name in PLAIN}, PLAIN, optional=False),
        **fields_of(row.body, ENDED, optional=True),
        **fields_of(row.body, BEGAN, optional=False),
        **fields_of(row.body, FLAGS, optional=False),
        source_scope=LearningScope.from_key(row.source_scope_key),
        status=Stage(row.status),
        definition=_definition(row.skill_name, row.body["definition"]),
    )
    if rollout.fingerprint != row.fingerprint:
        # Evidence speaks for a definition; one that was changed behind its back has none.
        raise ValueError("the definition is not the one that was kept")
    return rollout


def read_remnant(row: Any, said: Any) -> Rollout:
    """What the columns of a row still tell of a rollout, or `DamagedRecord`."""
    return read_record(
        row, lambda it: _remnant(it, said), what=f"rollout {row.skill_name} beside its body"
    )


def _remnant(row: Any, said: Any) -> Rollout:
    stage = Stage(row.status)
    # A person may have held it, and then only a person lets it go.
    is_held = bool(row.is_flagged) and stage in LIVE
    return Rollout(
        **fields_of({name: getattr(row, name) for name in PLAIN}, PLAIN, optional=False),
        source_scope=LearningScope.from_key(row.source_scope_key),
        status=stage,
        definition=_kept_definition(row, said),
        attempt_began_at_ms=row.updated_at_ms,
        stage_began_at_ms=row.updated_at_ms,
        held_reason=HELD_UNREAD if is_held else None,
        is_held_by_hand=is_held,
        revoked_at_ms=None if stage in LIVE else row.updated_at_ms,
        is_demoted=bool(row.is_flagged) and stage not in LIVE,
    )


def _kept_definition(row: Any, said: Any) -> Definition:
    try:
        found = _definition(row.skill_name, said)
    except (KeyError, TypeError, ValueError):
        return lost_definition(row.skill_name)
    return found if found.fingerprint == row.fingerprint else lost_definition(row.skill_name)


def _definition(skill_name: str, stored: Any) -> Definition:
    return Definition(
        skill_name=skill_name,
        **fields_of(stored, SAID, optional=False),
        **fields_of(stored, SAID_PERHAPS, optional=True),
        runtime=_runtime(stored["runtime"]),
    )


def _runtime(stored: Any) -> RuntimeSettings:
    return RuntimeSettings(
        **fields_of(stored, CHOICES, optional=True),
        context=SkillContext(stored["context"]),
        allowed_tools=_texts(stored["allowed_tools"]),
        blocked_tools=_texts(stored["blocked_tools"]),
    )


def event_row(event: LifecycleEvent) -> dict[str, Any]:
    """All columns of an event but its number."""
    said = {name: getattr(event, name) for name in (*HAPPENED, *HAPPENED_PERHAPS)}
    return {
        "skill_name": event.skill_name,
        "event": str(event.event),
        "recorded_at_ms": event.recorded_at_ms,
        "body": said,
    }


def read_event(row: Any) -> LifecycleEvent:
    """The event in a row, or `DamagedRecord`."""
    return read_record(row, _event, what=f"event {row.number} of rollout {row.skill_name}")


def _event(row: Any) -> LifecycleEvent:
    said = fields_of(row.body, HAPPENED, optional=False)
    said |= fields_of(row.body, HAPPENED_PERHAPS, optional=True)
    before, kind = said["from_status"], said["rollout_kind"]
    said |= {
        "to_status": Stage(said["to_status"]),
        "from_status": None if before is None else Stage(before),
        "rollout_kind": None if kind is None else EvidenceKind(kind),
    }
    return LifecycleEvent(
        **said,
        skill_name=row.skill_name,
        event=RolloutEventName(row.event),
        recorded_at_ms=row.recorded_at_ms,
    )


def evidence_row(evidence: EvidenceRecord) -> dict[str, Any]:
    """All columns of a piece of evidence."""
    return {**asdict(evidence), "kind": str(evidence.kind), "proof": str(evidence.proof)}


def read_evidence(row: Any) -> EvidenceRecord:
    """The evidence in a row, or `DamagedRecord`."""
    return read_record(row, _evidence, what=f"evidence {row.evidence_id}")


def _evidence(row: Any) -> EvidenceRecord:
    plain = {name: getattr(row, name) for name in EvidenceRecord.__slots__}
    kept = {"kind": EvidenceKind(row.kind), "proof": Proof(row.proof), "note": _text(row.note)}
    return EvidenceRecord(**plain | kept)


def snapshot_row(snapshot: Snapshot) -> dict[str, Any]:
    """All columns of a snapshot; what it said is kept beside it."""
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
    """All columns of what a skill said once."""
    return {
        "skill_name": definition.skill_name,
        "fingerprint": definition.fingerprint,
        "body": asdict(definition),
    }


def read_snapshot(row: Any) -> Snapshot:
    """The snapshot in a row with its definition, or `DamagedRecord`."""
    return read_record(row, _snapshot, what=f"snapshot {row.number} of rollout {row.skill_name}")


def _snapshot(row: Any) -> Snapshot:
    stored = _object(row.body)
    body = {**_object(stored["body"]), "definition": row.definition}
    record = _rollout(SimpleNamespace(**{**stored, "body": body}))
    told = (record.skill_name, str(record.status), record.fingerprint)
    if told != (row.skill_name, row.status, row.fingerprint):
        raise ValueError("the snapshot is not of this rollout")
    return Snapshot(
        skill_name=row.skill_name,
        number=row.number,
        record=record,
        recorded_at_ms=row.recorded_at_ms,
    )


def trial_row(trial: Trial) -> dict[str, Any]:
    """All columns of a trial."""
    plain = {name: getattr(trial, name) for name in Trial.__slots__}
    report = trial.report
    return plain | {
        "kind": str(trial.kind),
        "state": str(trial.state),
        "cases": [dict(case) for case in trial.cases],
        "report": None if report is None else dict(report),
    }


def read_trial(row: Any) -> Trial:
    """The trial in a row, or `DamagedRecord`."""
    return read_record(row, _trial, what=f"trial {row.trial_id}")


def _trial(row: Any) -> Trial:
    plain = {name: getattr(row, name) for name in Trial.__slots__}
    return Trial(
        **plain
        | {
            "kind": EvidenceKind(row.kind),
            "state": TrialState(row.state),
            "marker": _text(row.marker),
            "cases": tuple(map(_object, list_of(row.cases))),
            "report": optional_object(row.report),
        }
    )


def _object(stored: Any) -> dict[str, Any]:
    if not isinstance(stored, dict):
        raise TypeError("not a JSON object")
    return stored


def _text(stored: Any) -> str:
    if not isinstance(stored, str):
        raise TypeError("not a text")
    return stored


def _texts(stored: Any) -> tuple[str, ...]:
    return tuple(map(_text, list_of(stored)))
