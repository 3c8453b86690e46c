"""Rollouts with sane defaults, and what belongs to them."""

from typing import Any

from tests.support.factories import NOW
from understudy.rollout.model import (
    Definition,
    EvidenceKind,
    EvidenceRecord,
    LifecycleEvent,
    Proof,
    Rollout,
    RolloutEventName,
    Snapshot,
    Stage,
)
from understudy.rollout.trials.trial import Trial
from understudy.sessions.learning_scopes import WORKSPACE


def make_definition(skill_name: str = "release-notes", **fields: Any) -> Definition:
    """How release notes are written."""
    values: dict[str, Any] = {
        "description": "Writes the release notes",
        "instructions": "Read the log, then write the notes.",
    }
    return Definition(skill_name=skill_name, **(values | fields))


def make_rollout(skill_name: str = "release-notes", **fields: Any) -> Rollout:
    """A draft that ann promoted from a learning of its own."""
    values: dict[str, Any] = {
        "source_learning_id": f"lrn_{skill_name}",
        "source_scope": WORKSPACE,
        "status": Stage.DRAFT,
        "definition": make_definition(skill_name),
        "digest": "0" * 64,
        "promoted_at_ms": NOW,
        "promoted_by": "ann",
        "updated_at_ms": NOW,
    }
    return Rollout(skill_name=skill_name, **(values | fields))


def make_event(rollout: Rollout, **fields: Any) -> LifecycleEvent:
    """The first thing that happened to a rollout."""
    values: dict[str, Any] = {
        "event": RolloutEventName.PROMOTE,
        "recorded_at_ms": NOW,
        "to_status": rollout.status,
        "actor": "ann",
    }
    return LifecycleEvent(skill_name=rollout.skill_name, **(values | fields))


def make_evidence(rollout: Rollout, run_id: str = "run_1", **fields: Any) -> EvidenceRecord:
    """A run that verified the definition."""
    values: dict[str, Any] = {
        "evidence_id": f"evd_{rollout.skill_name}_{rollout.attempt}_{run_id}",
        "attempt": rollout.attempt,
        "fingerprint": rollout.fingerprint,
        "kind": EvidenceKind.VERIFICATION,
        "proof": Proof.ATTESTED,
        "session_id": "s1",
        "root_session_id": fields.get("session_id", "s1"),
        "success": True,
        "note": "it worked",
        "actor": "ann",
        "recorded_at_ms": NOW,
    }
    return EvidenceRecord(skill_name=rollout.skill_name, run_id=run_id, **(values | fields))


def make_snapshot(rollout: Rollout, **fields: Any) -> Snapshot:
    """A rollout as it was."""
    values: dict[str, Any] = {"number": rollout.revision, "recorded_at_ms": NOW}
    return Snapshot(skill_name=rollout.skill_name, record=rollout, **(values | fields))


def make_trial(rollout: Rollout, trial_id: str = "trl_1", **fields: Any) -> Trial:
    """A trial that was started for a draft."""
    values: dict[str, Any] = {
        "attempt": rollout.attempt,
        "fingerprint": rollout.fingerprint,
        "kind": EvidenceKind.VERIFICATION,
        "marker": "NOTES_OK",
        "actor": "ann",
        "created_at_ms": NOW,
    }
    return Trial(trial_id=trial_id, skill_name=rollout.skill_name, **(values | fields))
