"""Evidence: runs that a caller attests, and runs that executed the definition."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

from understudy.core.errors import coded_error
from understudy.core.ids import new_id
from understudy.core.principal import DAEMON
from understudy.core.text import short_digest
from understudy.rollout.changes import RolloutChanges
from understudy.rollout.evidence import (
    EvidenceClaim,
    proof_of,
    same_execution,
    sibling_executions,
    success_of,
)
from understudy.rollout.model import (
    EvidenceKind,
    EvidenceRecord,
    Proof,
    Rollout,
    RolloutEventName,
    Stage,
    require_fingerprint,
    require_rollout,
)
from understudy.rollout.trials.trial import Trial
from understudy.runs.lifecycle import TERMINAL
from understudy.runs.model import Run, require_run

if TYPE_CHECKING:
    from understudy.review.policy import PromotionSettings
    from understudy.storage.unit import Unit


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """A run that a caller reports as evidence."""

    kind: EvidenceKind
    run_id: str
    # The marker that the last output of the run has to contain, already checked.
    expected_output_contains: str
    # The expected fingerprint of the definition; None is not compared.
    definition_fingerprint: str | None = None


def record(
    changes: RolloutChanges, rollout: Rollout, result: Result, rules: "PromotionSettings"
) -> Rollout:
    """Record a run as evidence for a locked rollout; a run that was recorded before adds nothing."""
    unit = changes.unit
    run = require_run(unit, result.run_id)
    _check_open(rollout, result.kind)
    require_fingerprint(rollout, result.definition_fingerprint)
    if _is_known(unit, rollout, same_execution(unit, run, rollout)):
        return rollout
    if run.trial_id is not None:
        raise coded_error("rollout/evidence_of_a_trial", pointer="/run_id", run_id=run.run_id)
    if run.status not in TERMINAL:
        raise coded_error("rollout/run_not_ended", pointer="/run_id", run_id=run.run_id)
    marker = result.expected_output_contains
    shown = success_of(unit, run, marker)
    if result.kind is EvidenceKind.VERIFICATION and not shown.success:
        raise coded_error("rollout/verification_failed", pointer="/run_id", detail=shown.why)
    if shown.success and _is_known(unit, rollout, sibling_executions(unit, run, rollout)):
        return rollout
    claim = EvidenceClaim(kind=result.kind, marker=marker, success=shown.success)
    proof = proof_of(unit, run, rollout, claim)
    if rules.require_executed_evidence and proof is not Proof.EXECUTED:
        raise coded_error(
            "rollout/evidence_not_executed",
            pointer="/run_id",
            skill_name=rollout.skill_name,
            fingerprint=short_digest(rollout.fingerprint),
        )
    evidence = _evidence(changes, rollout, result.kind, run, proof=proof, success=shown.success)
    return _keep(changes, rollout, evidence)


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillExecution:
    """A run that executed a definition, and whether it succeeded."""

    kind: EvidenceKind
    run: Run
    success: bool
    # The trial of the run; None for a real use in a session.
    trial: Trial | None = None

    @property
    def is_moot(self) -> bool:
        """Whether it is no evidence: a failed verification is not recorded."""
        return self.kind is EvidenceKind.VERIFICATION and not self.success


def record_executed(changes: RolloutChanges, seen: Rollout, execution: SkillExecution) -> Rollout:
    """Record a run that executed a definition as evidence; the last thing that a unit does.

    Adds nothing where the rollout has changed meanwhile, or where a verification failed.
    """
    rollout = require_rollout(changes.unit, seen.skill_name, lock=True)
    is_current = rollout.tried == seen.tried
    is_open = rollout.is_live and _fits(rollout, execution.kind)
    is_new = not execution.is_moot and not _is_counted(changes.unit, rollout, execution)
    if not (is_current and is_open and is_new):
        return rollout
    kept = _keep(changes, rollout, _executed(changes, rollout, execution))
    changes.tell()
    return kept


def _check_open(rollout: Rollout, kind: EvidenceKind) -> None:
    if not rollout.is_live:
        raise coded_error("rollout/rollout_revoked", skill_name=rollout.skill_name)
    if not _fits(rollout, kind):
        raise coded_error(
            "rollout/rollout_not_in_canary",
            pointer="/kind",
            skill_name=rollout.skill_name,
            status=rollout.status,
        )


def _fits(rollout: Rollout, kind: EvidenceKind) -> bool:
    return kind is not EvidenceKind.CANARY or rollout.status is Stage.CANARY


def _is_known(unit: "Unit", rollout: Rollout, run_ids: Iterable[str]) -> bool:
    """Whether one of the runs is evidence in this attempt already."""
    about = rollout.skill_name, rollout.attempt
    return any(unit.rollouts.evidence_of_run(*about, run_id) is not None for run_id in run_ids)


def _is_counted(unit: "Unit", rollout: Rollout, execution: SkillExecution) -> bool:
    """Whether an execution is counted already; a failure only where this very run is."""
    run = execution.run
    alike = chain(same_execution(unit, run, rollout), sibling_executions(unit, run, rollout))
    return _is_known(unit, rollout, alike if execution.success else (run.run_id,))


def _executed(
    changes: RolloutChanges, rollout: Rollout, execution: SkillExecution
) -> EvidenceRecord:
    kind, success, trial = execution.kind, execution.success, execution.trial
    shown = _evidence(changes, rollout, kind, execution.run, proof=Proof.EXECUTED, success=success)
    if trial is None:
        return shown
    return replace(shown, trial_id=trial.trial_id, workspace_digest=trial.workspace_digest)


def _evidence(
    changes: RolloutChanges,
    rollout: Rollout,
    kind: EvidenceKind,
    run: Run,
    *,
    proof: Proof,
    success: bool,
) -> EvidenceRecord:
    how = "succeeded" if success else "failed"
    return EvidenceRecord(
        evidence_id=new_id("evd"),
        skill_name=rollout.skill_name,
        attempt=rollout.attempt,
        fingerprint=rollout.fingerprint,
        kind=kind,
        proof=proof,
        run_id=run.run_id,
        session_id=run.session_id,
        root_session_id=changes.unit.sidechains.root_of(run.session_id),
        success=success,
        note=f"{proof} {kind} {how} for definition {rollout.fingerprint}",
        actor=changes.actor,
        recorded_at_ms=changes.now_ms,
    )


def _keep(changes: RolloutChanges, rollout: Rollout, evidence: EvidenceRecord) -> Rollout:
    if not changes.unit.rollouts.add_evidence(evidence):
        return rollout
    changes.unit.after_commit(
        partial(
            changes.transactions.observer.shown,
            evidence.kind,
            evidence.proof,
            success=evidence.success,
        )
    )
    touched = changes.change(
        rollout,
        rollout,
        RolloutEventName.ROLLOUT_RESULT,
        rollout_kind=evidence.kind,
        run_id=evidence.run_id,
        session_id=evidence.session_id,
        success=evidence.success,
    )
    if evidence.kind is EvidenceKind.CANARY and not evidence.success:
        # No session is offered it, and it does not advance, before a person has reviewed it.
        by_daemon = replace(changes, actor=DAEMON.actor)
        reason = f"canary run {evidence.run_id} failed"
        return by_daemon.hold_for_review(touched, reason, run_ids=(evidence.run_id,))
    return touched
