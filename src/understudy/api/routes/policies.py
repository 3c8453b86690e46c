"""The run-memory policy: what operators decide about memory while the daemon runs."""

from typing import Annotated, Final

from fastapi import APIRouter, Body

from understudy.api.gate import GatedRoute
from understudy.api.operations import admin, viewer
from understudy.api.paging import Paging, items
from understudy.api.parts import Caller, Parts
from understudy.api.policy_bodies import RUN_MEMORY
from understudy.api.views.memory import policy_revision_view, policy_view
from understudy.core.page import Page
from understudy.wire.base import Items
from understudy.wire.memory import (
    RunMemoryPolicyRevisionView,
    RunMemoryPolicyView,
    SetRunMemoryPolicy,
)
from understudy.wire.runtime import RollBackRuntime

router = APIRouter(tags=["policies"], route_class=GatedRoute)
PATH: Final = "/v1/runtime/run-memory-policy"


@router.get(PATH, operation_id="run_memory_policy.get")
@viewer()
def get_run_memory_policy(parts: Parts) -> RunMemoryPolicyView:
    """How much is remembered of runs, for how long, and who may find it."""
    return policy_view(parts.run_memories.policy())


@router.post(PATH, operation_id="run_memory_policy.set")
@admin(action="runtime.change")
def set_run_memory_policy(
    parts: Parts, caller: Caller, body: Annotated[SetRunMemoryPolicy, Body()] = None
) -> RunMemoryPolicyView:
    """Replace the policy; what it no longer allows is removed before the answer comes."""
    change = RUN_MEMORY.change(body)
    with change.located():
        changed = parts.run_memories.set_policy(
            caller, change.given, expected_revision=change.expected_revision
        )
    return policy_view(changed)


@router.get(PATH + "/revisions", operation_id="run_memory_policy.revisions")
@viewer()
def list_run_memory_policies(parts: Parts, page: Paging) -> Items[RunMemoryPolicyRevisionView]:
    """The policy as it stood after each kept change of it, newest first."""
    return items(Page.cut(parts.run_memories.policy_revisions(), page), policy_revision_view)


@router.post(PATH + "/rollback", operation_id="run_memory_policy.rollback")
@admin(action="runtime.rollback")
def roll_back_run_memory_policy(
    parts: Parts, caller: Caller, body: RollBackRuntime | None = None
) -> RunMemoryPolicyView:
    """Bring the policy of an earlier revision back, as a new revision; other settings stay."""
    wanted = body or RollBackRuntime()
    changed = parts.run_memories.roll_back_policy(
        caller, wanted.target_revision, expected_revision=wanted.expected_revision
    )
    return policy_view(changed)
