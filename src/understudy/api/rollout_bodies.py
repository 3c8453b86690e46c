"""What callers send about rollouts, as the services take it."""

from typing import Annotated

from fastapi import Depends, Query

from understudy.rollout.definition import Promotion
from understudy.rollout.model import EvidenceKind, RolloutFilter
from understudy.rollout.results import Result
from understudy.rollout.stages import Stage
from understudy.rollout.trials.trial import CaseWish, TrialWish
from understudy.wire import rollouts as wire
from understudy.wire.rollout_requests import (
    PromoteSkill,
    RolloutReason,
    RolloutResult,
    StartTrial,
)


def promotion(body: PromoteSkill) -> Promotion:
    """What a procedure is to become."""
    status = body.status
    said = body.model_dump(exclude={"status"})
    return Promotion(**said, status=None if status is None else Stage(status))


def result(body: RolloutResult) -> Result:
    """What a run is said to show."""
    return Result(
        kind=EvidenceKind(body.kind),
        run_id=body.run_id,
        expected_output_contains=body.expected_output_contains,
        definition_fingerprint=body.definition_fingerprint,
    )


def trial_wish(given: StartTrial | None) -> TrialWish:
    """What is to be tried; the definition as it stands where nothing is said."""
    body = given or StartTrial()
    return TrialWish(
        marker=body.expected_output_contains,
        kind=None if body.kind is None else EvidenceKind(body.kind),
        params=body.params,
        definition_fingerprint=body.definition_fingerprint,
        cases=tuple(CaseWish(run_id=it.run_id, marker=it.marker) for it in body.cases or ()),
    )


def reason_in(body: RolloutReason | None) -> str | None:
    """Why, where somebody says."""
    return None if body is None else body.reason


def _filter(
    source_learning_id: Annotated[
        str | None, Query(description="only those of this learning")
    ] = None,
    status: Annotated[wire.Stage | None, Query(description="only in this stage")] = None,
) -> RolloutFilter:
    return RolloutFilter(
        source_learning_id=source_learning_id,
        status=None if status is None else Stage(status),
    )


WhichRollouts = Annotated[RolloutFilter, Depends(_filter)]
