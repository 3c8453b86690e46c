"""Rollouts: procedures that become skills, stage by stage, and how they are taken back."""

from functools import partial
from pathlib import Path
from typing import Annotated, Final

from fastapi import APIRouter, Query
from fastapi import Path as InPath

from understudy.api.gate import GatedRoute
from understudy.api.operations import operator, viewer
from understudy.api.paging import Paging, items
from understudy.api.rollout_bodies import (
    WhichRollouts,
    promotion,
    reason_in,
    result,
)
from understudy.api.routes.learnings import ONE as LEARNING
from understudy.api.routes.learnings import LearningId
from understudy.api.services import Caller, Services
from understudy.api.views.rollouts import (
    diff_view,
    event_view,
    rollout_view,
    snapshot_view,
    summary_view,
)
from understudy.core.principal import Principal, Role
from understudy.rollout.service import RolloutDetail, compared
from understudy.wire import rollouts as wire
from understudy.wire.base import Items, VersionNumber
from understudy.wire.rollout_requests import PromoteSkill, RolloutReason, RolloutResult

router = APIRouter(tags=["rollouts"], route_class=GatedRoute)
SkillName = Annotated[str, InPath(description="name of the promoted skill")]
Number = Annotated[VersionNumber | None, Query()]
ALL: Final = "/v1/learning-skills"
ONE: Final = ALL + "/{skill_name}"


@router.post(LEARNING + "/promote-skill", operation_id="rollouts.promote")
@operator(body_id="skill_name")
def promote(
    learning_id: LearningId, body: PromoteSkill, services: Services, caller: Caller
) -> wire.RolloutView:
    """Make a draft of a procedure; sent again for the same skill, change it or move it on."""
    return _shown(services, caller, services.rollouts.promote(caller, learning_id, promotion(body)))


@router.get(ALL, operation_id="rollouts.list")
@viewer()
def list_rollouts(
    services: Services, caller: Caller, page: Paging, which: WhichRollouts
) -> Items[wire.RolloutSummary]:
    """Promoted skills of every stage, by name, each with the newest of its evidence and events."""
    view = partial(summary_view, home=_home(services, caller))
    return items(services.rollouts.page(page, narrowed=which), view)


@router.get(ONE, operation_id="rollouts.get")
@viewer()
def get(skill_name: SkillName, services: Services, caller: Caller) -> wire.RolloutView:
    """One promoted skill: what it says, where it stands, and what the next stage asks for."""
    return _shown(services, caller, services.rollouts.get(skill_name))


@router.get(ONE + "/events", operation_id="rollouts.events")
@viewer()
def events(
    skill_name: SkillName, services: Services, page: Paging
) -> Items[wire.LifecycleEventView]:
    """Everything that happened to it, oldest first."""
    return items(services.rollouts.events(skill_name, page), event_view)


@router.get(ONE + "/history", operation_id="rollouts.history")
@viewer()
def history(skill_name: SkillName, services: Services, page: Paging) -> Items[wire.SnapshotView]:
    """How it was before each change, newest first."""
    return items(services.rollouts.history(skill_name, page), snapshot_view)


@router.get(ONE + "/diff", operation_id="rollouts.diff")
@viewer()
def diff(
    skill_name: SkillName,
    services: Services,
    old: Annotated[
        Number,
        Query(alias="from", description="the revision to start from; the last that said otherwise"),
    ] = None,
    new: Annotated[
        Number, Query(alias="to", description="the revision to compare it with; the current one")
    ] = None,
) -> wire.RolloutDiff:
    """What changed from one revision to another, in the files of the skill."""
    found = compared(services.rollouts, skill_name, old=old, new=new)
    return diff_view(found.old, found.new, found.diff)


@router.post(ONE + "/rollout-result", operation_id="rollouts.result")
@operator()
def record_result(
    skill_name: SkillName, body: RolloutResult, services: Services, caller: Caller
) -> wire.RolloutView:
    """Have a run count as evidence; the same run again changes nothing."""
    return _shown(
        services, caller, services.rollouts.record_result(caller, skill_name, result(body))
    )


@router.post(ONE + "/hold", operation_id="rollouts.hold")
@operator()
def hold(
    skill_name: SkillName, services: Services, caller: Caller, body: RolloutReason | None = None
) -> wire.RolloutView:
    """Let it go no further for now."""
    held = services.rollouts.hold(caller, skill_name, reason=reason_in(body))
    return _shown(services, caller, held)


@router.post(ONE + "/release", operation_id="rollouts.release")
@operator()
def release(
    skill_name: SkillName, services: Services, caller: Caller, body: RolloutReason | None = None
) -> wire.RolloutView:
    """Let one that is held go on."""
    released = services.rollouts.release(caller, skill_name, reason=reason_in(body))
    return _shown(services, caller, released)


@router.post(ONE + "/revoke", operation_id="rollouts.revoke")
@operator()
def revoke(
    skill_name: SkillName, services: Services, caller: Caller, body: RolloutReason | None = None
) -> wire.RolloutView:
    """Take it back: its files are removed, and no agent is offered it; the record stays."""
    revoked = services.rollouts.revoke(caller, skill_name, reason=reason_in(body))
    return _shown(services, caller, revoked)


@router.post(ONE + "/rollback", operation_id="rollouts.rollback")
@operator()
def rollback(
    skill_name: SkillName, services: Services, caller: Caller, body: RolloutReason | None = None
) -> wire.RolloutView:
    """Have a revoked one in force again, as it last was while its learning still holds."""
    restored = services.rollouts.rollback(caller, skill_name, reason=reason_in(body))
    return _shown(services, caller, restored)


def _shown(services: Services, caller: Principal, detail: RolloutDetail) -> wire.RolloutView:
    """A rollout as this caller may see it."""
    return rollout_view(detail, home=_home(services, caller))


def _home(services: Services, caller: Principal) -> Path | None:
    """Only an admin is told of folders of the machine."""
    return services.ground.settings.home if caller.role.includes(Role.ADMIN) else None
