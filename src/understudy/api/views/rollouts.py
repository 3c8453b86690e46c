"""Rollouts as the wire shows them."""

from collections.abc import Mapping
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import Any

from understudy.rollout.confidence import SuccessTally
from understudy.rollout.guards import GuardReason, actions_of
from understudy.rollout.model import Definition, EvidenceRecord, LifecycleEvent, Rollout, Snapshot
from understudy.rollout.mount_keeper import PLACE
from understudy.rollout.regression import Uses
from understudy.rollout.service import Counted, RolloutDetail
from understudy.rollout.stages import Stage
from understudy.skills.bundles.limits import MANIFEST
from understudy.skills.diff import BundleDiff
from understudy.wire import rollouts as wire


def summary_view(counted: Counted, *, home: Path | None = None) -> wire.RolloutSummary:
    """A rollout in a list; with the home, also where its files lie."""
    return wire.RolloutSummary(**_fields(counted, home))


def rollout_view(detail: RolloutDetail, *, home: Path | None = None) -> wire.RolloutView:
    """A rollout with all that is told of it; with the home, also where its files lie."""
    return wire.RolloutView(
        **_fields(detail, home),
        next=_next_view(detail.next, detail.missing),
        uses=_uses_view(detail.uses),
        warnings=[wire.CaveatView(**asdict(each)) for each in detail.warnings],
    )


def event_view(event: LifecycleEvent) -> wire.LifecycleEventView:
    """One thing that happened."""
    return wire.LifecycleEventView(**_plain(asdict(event)))


def snapshot_view(snapshot: Snapshot) -> wire.SnapshotView:
    """A rollout as it was."""
    record = snapshot.record
    return wire.SnapshotView(
        **_said(record.definition),
        **_ended(record),
        number=snapshot.number,
        recorded_at_ms=snapshot.recorded_at_ms,
        status=record.status.value,
        source_learning_id=record.source_learning_id,
        attempt=record.attempt,
        promoted_at_ms=record.promoted_at_ms,
        promoted_by=record.promoted_by,
    )


def diff_view(old: Rollout, new: Rollout, diff: BundleDiff) -> wire.RolloutDiff:
    """What changed between two states of a rollout."""
    return wire.RolloutDiff(
        from_number=old.revision,
        to_number=new.revision,
        from_status=old.status.value,
        to_status=new.status.value,
        from_fingerprint=old.fingerprint,
        to_fingerprint=new.fingerprint,
        files=list(diff.files),
    )


def _fields(counted: Counted, home: Path | None) -> dict[str, Any]:
    record, counts = counted.record, counted.counts
    return {
        **_said(record.definition),
        **_ended(record),
        **_places(record, home),
        "skill_name": record.skill_name,
        "source_learning_id": record.source_learning_id,
        "source_scope": record.source_scope,
        "status": record.status.value,
        "digest": record.digest,
        "attempt": record.attempt,
        "revision": record.revision,
        "promoted_at_ms": record.promoted_at_ms,
        "promoted_by": record.promoted_by,
        "updated_at_ms": record.updated_at_ms,
        "verification_status": counts.verification_status.value,
        "successful_run_count": counts.successful_run_count,
        "distinct_session_count": counts.distinct_session_count,
        "verifier_run_ids": list(counted.verifier_run_ids),
        "real_daemon_verified": counts.real_daemon_verified,
        "last_verified_workspace_digest": counted.workspace_digest,
        "executed_run_count": counts.executed_run_count,
        "canary_success_count": counts.canary_success_count,
        "canary_failure_count": counts.canary_failure_count,
        "evidence_refs": [_evidence_view(each) for each in counted.evidence],
        "lifecycle_events": [event_view(each) for each in counted.events],
        "actions": list(actions_of(record)),
    }


def _places(record: Rollout, home: Path | None) -> dict[str, str]:
    if home is None:
        return {}
    root = home.joinpath(*PLACE)
    return {"skill_root": str(root), "skill_path": str(root / record.source_learning_id / MANIFEST)}


def _said(definition: Definition) -> dict[str, Any]:
    """What a definition says."""
    return {
        "description": definition.description,
        "when_to_use": definition.when_to_use,
        "version": definition.version,
        "instructions": definition.instructions,
        "runtime": definition.runtime,
        "definition_fingerprint": definition.fingerprint,
    }


def _ended(record: Rollout) -> dict[str, Any]:
    """What holds it back, or ended it."""
    return {
        "held_reason": record.held_reason,
        "is_demoted": record.is_demoted,
        "revoked_at_ms": record.revoked_at_ms,
        "revoked_reason": record.revoked_reason,
    }


def _evidence_view(evidence: EvidenceRecord) -> wire.RolloutEvidence:
    return wire.RolloutEvidence(
        **_plain(asdict(evidence)), definition_fingerprint=evidence.fingerprint
    )


def _uses_view(uses: Uses) -> wire.UsesView:
    return wire.UsesView(
        offered_percent=uses.offered_percent,
        canary=wire.OutcomeCountsView(**asdict(uses.canary)),
        active=wire.OutcomeCountsView(**asdict(uses.active)),
        baseline=_tally_view(uses.baseline),
        recent=_tally_view(uses.recent),
    )


def _tally_view(tally: SuccessTally) -> wire.TallyView:
    return wire.TallyView(successes=tally.successes, tries=tally.tries, rate=tally.rate)


def _next_view(target: Stage | None, missing: tuple[GuardReason, ...]) -> wire.NextStageView | None:
    if target is None:
        return None
    said = [wire.MissingView(code=each.code, detail=each.words) for each in missing]
    return wire.NextStageView(status=target.value, missing=said)


def _plain(said: Mapping[str, Any]) -> dict[str, Any]:
    """The values of enums, as a wire has them."""
    return {
        name: value.value if isinstance(value, StrEnum) else value for name, value in said.items()
    }
