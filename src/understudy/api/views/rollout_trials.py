"""Trials of promoted skills as the wire shows them."""

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from understudy.core.errors import DamagedRecord
from understudy.rollout.replay.report import ReplayCase
from understudy.rollout.trials.trial import Trial
from understudy.wire import rollouts as wire


def trial_in_list(trial: Trial) -> wire.TrialView:
    """A trial as it stands, without what its cases came to."""
    return wire.TrialView(**_fields(trial), cases=[_asked_view(case) for case in trial.cases])


def trial_view(trial: Trial, cases: Sequence[ReplayCase]) -> wire.TrialView:
    """A trial with the runs of its cases, and what they came to."""
    return wire.TrialView(
        **_fields(trial),
        cases=[_case_view(case) for case in cases],
        report=None if trial.report is None else _report_view(trial, trial.report),
    )


def _fields(trial: Trial) -> dict[str, Any]:
    return {
        "trial_id": trial.trial_id,
        "skill_name": trial.skill_name,
        "kind": trial.kind.value,
        "state": trial.state.value,
        "definition_fingerprint": trial.fingerprint,
        "attempt": trial.attempt,
        "expected_output_contains": trial.marker or None,
        "reason": trial.reason,
        "run_id": trial.run_id,
        "session_id": trial.session_id,
        "actor": trial.actor,
        "created_at_ms": trial.created_at_ms,
        "ended_at_ms": trial.ended_at_ms,
    }


def _asked_view(case: Mapping[str, Any]) -> wire.TrialCaseView:
    marker = case.get("marker")
    return wire.TrialCaseView(
        run_id=str(case.get("run_id", "")), marker=None if marker is None else str(marker)
    )


def _case_view(case: ReplayCase) -> wire.TrialCaseView:
    return wire.TrialCaseView(
        run_id=case.recorded_run_id,
        marker=case.marker,
        without_run_id=case.without_run_id,
        with_run_id=case.with_run_id,
    )


def _report_view(trial: Trial, report: Mapping[str, Any]) -> wire.ReplayReportView:
    try:
        return wire.ReplayReportView.model_validate(dict(report))
    except ValidationError as problem:
        raise DamagedRecord(
            "record_damaged",
            domain="storage",
            detail=f"the stored report of trial {trial.trial_id} cannot be read",
        ) from problem
