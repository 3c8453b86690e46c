"""The learning policy: what is captured, what automation may do, and what another would change."""

from typing import Annotated, Final

from fastapi import APIRouter, Body

from understudy.api.gate import GatedRoute
from understudy.api.operations import admin, operator, viewer
from understudy.api.paging import Paging, items
from understudy.api.parts import Caller, Parts
from understudy.api.policy_bodies import LEARNING
from understudy.api.views.learning_policy import dry_run_view, policy_revision_view, policy_view
from understudy.core.page import Page
from understudy.wire.base import Items
from understudy.wire.learning_policy import (
    DryRunLearningPolicy,
    LearningPolicyDryRunView,
    LearningPolicyRevisionView,
    LearningPolicyView,
    SetLearningPolicy,
)
from understudy.wire.runtime import RollBackRuntime

router = APIRouter(tags=["policies"], route_class=GatedRoute)
PATH: Final = "/v1/runtime/learning-policy"


@router.get(PATH, operation_id="learning_policy.get")
@viewer()
def get_learning_policy(parts: Parts) -> LearningPolicyView:
    """What is captured from runs, what automation may do with it, and who is asked first."""
    return policy_view(parts.learning_policy.policy())


@router.post(PATH, operation_id="learning_policy.set")
@admin(action="runtime.change")
def set_learning_policy(
    parts: Parts, caller: Caller, body: Annotated[SetLearningPolicy, Body()] = None
) -> LearningPolicyView:
    """Replace the policy; what is left out takes its default, and what waits is reviewed anew."""
    change = LEARNING.change(body)
    with change.located():
        changed = parts.learning_policy.set_policy(
            caller, change.given, expected_revision=change.expected_revision
        )
    return policy_view(changed)


@router.get(PATH + "/revisions", operation_id="learning_policy.revisions")
@viewer()
def list_learning_policies(parts: Parts, page: Paging) -> Items[LearningPolicyRevisionView]:
    """The policy as it stood after each kept change of it, newest first."""
    return items(Page.cut(parts.learning_policy.policy_revisions(), page), policy_revision_view)


@router.post(PATH + "/rollback", operation_id="learning_policy.rollback")
@admin(action="runtime.rollback")
def roll_back_learning_policy(
    parts: Parts, caller: Caller, body: RollBackRuntime | None = None
) -> LearningPolicyView:
    """Bring the policy of an earlier revision back, as a new revision; other settings stay."""
    wanted = body or RollBackRuntime()
    changed = parts.learning_policy.roll_back_policy(
        caller, wanted.target_revision, expected_revision=wanted.expected_revision
    )
    return policy_view(changed)


@router.post(PATH + "/dry-run", operation_id="learning_policy.dry_run")
# Nothing changes, but it keeps a processor busy.
@operator()
def dry_run_learning_policy(body: DryRunLearningPolicy, parts: Parts) -> LearningPolicyDryRunView:
    """What a policy would make of what waits, and of what was decided lately; nothing changes."""
    proposal = LEARNING.proposal(body.policy)
    with proposal.located():
        found = parts.learning_policy.dry_run(proposal.given, days=body.days)
    return dry_run_view(found)
