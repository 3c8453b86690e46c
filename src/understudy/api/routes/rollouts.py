"""Rollouts: procedures that become skills, stage by stage, and the trials of their definitions."""

import asyncio
import time
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final

from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi import Path as InPath
from pydantic import ValidationError

from understudy.api.bodies import record_of
from understudy.api.gate import GatedRoute
from understudy.api.idempotency import CUT_OFF_MS, HEADER
from understudy.api.operations import operator, viewer
from understudy.api.paging import Paging, items
from understudy.api.routes.learnings import ONE as LEARNING
from understudy.api.routes.learnings import LearningId
from understudy.api.services import Caller, Services
from understudy.core.errors import coded_error
from understudy.core.page import Page
from understudy.core.principal import Principal, Role
from understudy.core.records import parsed
from understudy.rollout.definition import Promotion
from understudy.rollout.guards import actions_of
from understudy.rollout.model import (
    Definition,
    LifecycleEvent,
    Rollout,
    RolloutFilter,
    Snapshot,
    Stage,
)
from understudy.rollout.mounts import PLACE
from understudy.rollout.replay.report import ReplayReport
from understudy.rollout.results import Result
from understudy.rollout.service import (
    CountedRollout,
    RollbackPreview,
    RolloutDetail,
    RolloutDiff,
    compared,
)
from understudy.rollout.trials.trial import CaseRequest, Trial, TrialRequest, TrialState
from understudy.runtime.two_people import TwoApprovers
from understudy.skills.bundles.limits import MANIFEST
from understudy.wire.base import Items, VersionNumber
from understudy.wire.rollouts import (
    AdvanceSkill,
    PromoteSkill,
    RollBackSkill,
    RolloutReason,
    RolloutResult,
    RolloutSummary,
    RolloutView,
    SnapshotView,
    StartTrial,
    TrialCaseView,
    TrialView,
)

router = APIRouter(tags=["rollouts"], route_class=GatedRoute)
SkillName = Annotated[str, InPath(description="name of the promoted skill")]
Number = Annotated[VersionNumber | None, Query()]
TrialId = Annotated[str, InPath(description="id of the trial")]
ALL: Final = "/v1/learning-skills"
ONE: Final = ALL + "/{skill_name}"
MAX_WAIT_MS: Final = 60_000
# Shorter than an idempotency key is held, or a retry would start another trial.
KEYED_WAIT_MS: Final = CUT_OFF_MS - 15_000
# A trial is a whole run: polling more often would not end it sooner.
POLL_S: Final = 0.25
WaitMs = Annotated[
    int, Query(ge=0, le=MAX_WAIT_MS, description="how long to wait for its end, in milliseconds")
]


async def _filter(
    source_learning_id: Annotated[
        str | None, Query(description="only those of this learning")
    ] = None,
    status: Annotated[Stage | None, Query(description="only in this stage")] = None,
) -> RolloutFilter:
    return RolloutFilter(source_learning_id=source_learning_id, status=status)


def _moves_on(body: Any) -> bool:
    return isinstance(body, dict) and body.get("status") not in (None, Stage.DRAFT)


@router.post(LEARNING + "/promote-skill", operation_id="rollouts.promote")
@operator(two=TwoApprovers.SKILL_ACTIVATION, two_if=_moves_on, body_id="skill_name")
def promote(
    learning_id: LearningId, body: PromoteSkill, services: Services, caller: Caller
) -> RolloutView:
    """Make a draft of a procedure; sent again for the same skill, change it or move it on."""
    return _shown(
        services, caller, services.rollouts.promote(caller, learning_id, record_of(Promotion, body))
    )


@router.get(ALL, operation_id="rollouts.list")
@viewer()
def list_rollouts(
    services: Services,
    caller: Caller,
    page: Paging,
    which: Annotated[RolloutFilter, Depends(_filter)],
) -> Items[RolloutSummary]:
    """List promoted skills of every stage, by name, each with its newest evidence and events."""
    view = partial(summary_view, home=_home(services, caller))
    return items(services.rollouts.page(page, narrowed=which), view)


@router.get(ONE, operation_id="rollouts.get")
@viewer()
def get(skill_name: SkillName, services: Services, caller: Caller) -> RolloutView:
    """Show a promoted skill: its definition, its stage, and what the next stage requires."""
    return _shown(services, caller, services.rollouts.get(skill_name))


@router.get(ONE + "/events", operation_id="rollouts.events")
@viewer()
def events(skill_name: SkillName, services: Services, page: Paging) -> Page[LifecycleEvent]:
    """List all events of a promoted skill, oldest first."""
    return services.rollouts.events(skill_name, page)


@router.get(ONE + "/history", operation_id="rollouts.history")
@viewer()
def history(skill_name: SkillName, services: Services, page: Paging) -> Items[SnapshotView]:
    """List the revisions of a promoted skill before each change, newest first."""
    return items(services.rollouts.history(skill_name, page), _snapshot_view)


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
) -> RolloutDiff:
    """Compare two revisions of a promoted skill, file by file."""
    return compared(services.rollouts, skill_name, old=old, new=new)


@router.post(ONE + "/advance", operation_id="rollouts.advance")
@operator(two=TwoApprovers.SKILL_ACTIVATION)
def advance(
    skill_name: SkillName, services: Services, caller: Caller, body: AdvanceSkill | None = None
) -> RolloutView:
    """Advance a promoted skill to its next stage, or to another, with exactly its definition."""
    wanted = body or AdvanceSkill()
    detail = services.rollouts.advance(
        caller, skill_name, to=wanted.to, fingerprint=wanted.definition_fingerprint
    )
    return _shown(services, caller, detail)


@router.post(ONE + "/rollout-result", operation_id="rollouts.result")
@operator()
def record_result(
    skill_name: SkillName, body: RolloutResult, services: Services, caller: Caller
) -> RolloutView:
    """Record a run as evidence; the same run again changes nothing."""
    return _shown(
        services,
        caller,
        services.rollouts.record_result(caller, skill_name, record_of(Result, body)),
    )


@router.post(ONE + "/hold", operation_id="rollouts.hold")
@operator()
def hold(
    skill_name: SkillName, services: Services, caller: Caller, body: RolloutReason | None = None
) -> RolloutView:
    """Hold a promoted skill at its stage."""
    reason = None if body is None else body.reason
    return _shown(services, caller, services.rollouts.hold(caller, skill_name, reason=reason))


@router.post(ONE + "/release", operation_id="rollouts.release")
@operator()
def release(
    skill_name: SkillName, services: Services, caller: Caller, body: RolloutReason | None = None
) -> RolloutView:
    """Release a promoted skill that is held."""
    reason = None if body is None else body.reason
    return _shown(services, caller, services.rollouts.release(caller, skill_name, reason=reason))


@router.post(ONE + "/revoke", operation_id="rollouts.revoke")
@operator()
def revoke(
    skill_name: SkillName, services: Services, caller: Caller, body: RolloutReason | None = None
) -> RolloutView:
    """Revoke a promoted skill: its files are removed, and no agent is offered it; the record stays."""
    reason = None if body is None else body.reason
    return _shown(services, caller, services.rollouts.revoke(caller, skill_name, reason=reason))


@router.get(ONE + "/rollback", operation_id="rollouts.rollback_preview")
@viewer()
def rollback_preview(
    skill_name: SkillName,
    services: Services,
    to_version: Annotated[
        str | None, Query(description="which version, as `rollouts.rollback` takes it")
    ] = None,
) -> RollbackPreview:
    """Preview a rollback: the version, what would change, and which others there are."""
    return services.rollouts.rollback_preview(skill_name, to_version=to_version)


@router.post(ONE + "/rollback", operation_id="rollouts.rollback")
@operator(two=TwoApprovers.SKILL_ACTIVATION)
def rollback(
    skill_name: SkillName, services: Services, caller: Caller, body: RollBackSkill | None = None
) -> RolloutView:
    """Activate an earlier active version of an active or revoked skill, if its learning still holds."""
    wanted = body or RollBackSkill()
    to_version = None if wanted.to_version is None else str(wanted.to_version)
    detail = services.rollouts.rollback(
        caller, skill_name, reason=wanted.reason, to_version=to_version
    )
    return _shown(services, caller, detail)


@router.post(
    ONE + "/trial",
    operation_id="rollouts.trial",
    status_code=202,
    responses={200: {"model": TrialView, "description": "it is over"}},
)
@operator()
async def begin_trial(
    skill_name: SkillName,
    services: Services,
    caller: Caller,
    request: Request,
    response: Response,
    body: StartTrial | None = None,
    wait_ms: WaitMs = 0,
) -> TrialView:
    """Execute exactly the current definition, or run recorded runs again with it and without.

    Answers at once with the trial as it is then, or within `wait_ms` as soon as it is over; until
    then the status is 202.
    """
    begun = await asyncio.to_thread(services.trials.begin, caller, skill_name, _trial_request(body))
    trial = await _over_within(services, request, begun, wait_ms)
    if trial.state is not TrialState.PENDING:
        response.status_code = 200
    return await asyncio.to_thread(_trial_view, services, trial)


@router.get(ONE + "/trials", operation_id="rollouts.trials")
@viewer()
def list_trials(skill_name: SkillName, services: Services, page: Paging) -> Items[TrialView]:
    """List the trials of a promoted skill, newest first, without reports."""
    rollout = services.rollouts.at(skill_name)
    return items(services.trials.page(skill_name, page), partial(_trial_in_list, rollout))


@router.get(ONE + "/trials/{trial_id}", operation_id="rollouts.get_trial")
@viewer()
def get_trial(skill_name: SkillName, trial_id: TrialId, services: Services) -> TrialView:
    """Show a trial and its result."""
    return _trial_view(services, services.trials.get(skill_name, trial_id))


async def _over_within(services: Services, request: Request, trial: Trial, wait_ms: int) -> Trial:
    """The trial once it has ended, the time is up, or the client has disconnected."""
    most = KEYED_WAIT_MS if HEADER in request.headers else MAX_WAIT_MS
    until = time.monotonic() + min(wait_ms, most) / 1000
    while trial.state is TrialState.PENDING and (left := until - time.monotonic()) > 0:
        # A shutdown does not fail the trial: it continues after the restart.
        if services.resources.shutting_down.is_set() or await request.is_disconnected():
            break
        await asyncio.sleep(min(POLL_S, left))
        trial = await asyncio.to_thread(services.trials.get, trial.skill_name, trial.trial_id)
    return trial


def _trial_request(given: StartTrial | None) -> TrialRequest:
    body = given or StartTrial()
    cases = tuple(CaseRequest(run_id=it.run_id, marker=it.marker) for it in body.cases or ())
    return record_of(TrialRequest, body, marker=body.expected_output_contains, cases=cases)


def _shown(services: Services, caller: Principal, detail: RolloutDetail) -> RolloutView:
    """A rollout as visible to this caller."""
    return rollout_view(detail, home=_home(services, caller))


def _home(services: Services, caller: Principal) -> Path | None:
    """The home for file paths in answers; None unless the caller is an admin."""
    return services.resources.settings.home if caller.role.includes(Role.ADMIN) else None


def summary_view(counted: CountedRollout, *, home: Path | None = None) -> RolloutSummary:
    """A rollout in a list; with the home, also the paths of its files."""
    return RolloutSummary.of(counted.record, **_told(counted, home))


def rollout_view(detail: RolloutDetail, *, home: Path | None = None) -> RolloutView:
    """A rollout in full; with the home, also the paths of its files."""
    more = {"uses": detail.uses, "warnings": detail.warnings}
    return RolloutView.of(detail.record, **_told(detail, home), **more)


def _told(counted: CountedRollout, home: Path | None) -> dict[str, Any]:
    record, counts = counted.record, counted.counts
    return {
        **_said(record.definition),
        **_paths(record, home),
        **asdict(counts),
        "verification_status": counts.verification_status,
        "real_daemon_verified": counts.real_daemon_verified,
        "verifier_run_ids": counted.verifier_run_ids,
        "last_verified_workspace_digest": counted.workspace_digest,
        "evidence_refs": counted.evidence,
        "lifecycle_events": counted.events,
        "actions": actions_of(record),
        "next": counted.next,
    }


def _said(definition: Definition) -> dict[str, Any]:
    return {**asdict(definition), "definition_fingerprint": definition.fingerprint}


def _paths(record: Rollout, home: Path | None) -> dict[str, str]:
    if home is None:
        return {}
    root = home.joinpath(*PLACE)
    return {"skill_root": str(root), "skill_path": str(root / record.source_learning_id / MANIFEST)}


def _snapshot_view(snapshot: Snapshot) -> SnapshotView:
    return SnapshotView.of(
        snapshot.record,
        **_said(snapshot.record.definition),
        number=snapshot.number,
        recorded_at_ms=snapshot.recorded_at_ms,
    )


def _trial_in_list(rollout: Rollout, trial: Trial) -> TrialView:
    return TrialView.of(trial, **_trial_fields(rollout, trial), cases=trial.cases, report=None)


def _trial_view(services: Services, trial: Trial) -> TrialView:
    """A trial with the runs of its cases, and its report."""
    cases = [
        TrialCaseView.of(
            case, run_id=case.recorded_run_id, untrusted_path=told.get("untrusted_path", ())
        )
        for case, told in zip(services.trials.cases(trial), trial.cases, strict=True)
    ]
    fields = _trial_fields(services.rollouts.at(trial.skill_name), trial)
    return TrialView.of(trial, **fields, cases=cases, report=_report(trial))


def _trial_fields(rollout: Rollout, trial: Trial) -> dict[str, Any]:
    read = dict.fromkeys(code for case in trial.cases for code in case.get("untrusted_path", ()))
    is_open = bool(read) and rollout.status is not Stage.ACTIVE
    return {
        "definition_fingerprint": trial.fingerprint,
        "expected_output_contains": trial.marker or None,
        "derived_from_untrusted": rollout.derived_from_untrusted or is_open,
        "untrusted_path": tuple(dict.fromkeys((*rollout.untrusted_path, *read))),
    }


def _report(trial: Trial) -> ReplayReport | None:
    try:
        return None if trial.report is None else parsed(ReplayReport, dict(trial.report))
    except ValidationError as problem:
        raise coded_error(
            "storage/record_damaged:trial_report", trial_id=trial.trial_id
        ) from problem
