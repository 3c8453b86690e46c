"""Trials: the daemon executes a definition itself, and keeps what came of it as evidence."""

import asyncio
import time
from typing import Annotated, Final

from fastapi import APIRouter, Path, Query, Request, Response

from understudy.api.gate import GatedRoute
from understudy.api.idempotency import CUT_OFF_MS, HEADER
from understudy.api.operations import operator, viewer
from understudy.api.paging import Paging, items
from understudy.api.rollout_bodies import trial_wish
from understudy.api.routes.rollouts import ONE, SkillName
from understudy.api.services import Caller, Services
from understudy.api.views.rollout_trials import trial_in_list, trial_view
from understudy.rollout.trials.trial import Trial, TrialState
from understudy.wire.base import Items
from understudy.wire.rollout_requests import StartTrial
from understudy.wire.rollouts import TrialView

router = APIRouter(tags=["rollouts"], route_class=GatedRoute)
TrialId = Annotated[str, Path(description="id of the trial")]
MAX_WAIT_MS: Final = 60_000
KEYED_WAIT_MS: Final = CUT_OFF_MS - 15_000
# A trial is a whole run: looking more often would not make it any quicker.
LOOK_S: Final = 0.25
WaitMs = Annotated[
    int, Query(ge=0, le=MAX_WAIT_MS, description="how long to wait for its end, in milliseconds")
]


@router.post(
    ONE + "/trial",
    operation_id="rollouts.trial",
    status_code=202,
    responses={200: {"model": TrialView, "description": "it is over"}},
)
@operator()
async def begin(
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
    begun = await asyncio.to_thread(services.trials.begin, caller, skill_name, trial_wish(body))
    trial = await over_within(services, request, begun, wait_ms)
    if trial.state is not TrialState.PENDING:
        response.status_code = 200
    return await asyncio.to_thread(_shown, services, trial)


@router.get(ONE + "/trials", operation_id="rollouts.trials")
@viewer()
def list_trials(skill_name: SkillName, services: Services, page: Paging) -> Items[TrialView]:
    """The trials of a promoted skill, newest first, without reports."""
    return items(services.trials.page(skill_name, page), trial_in_list)


@router.get(ONE + "/trials/{trial_id}", operation_id="rollouts.get_trial")
@viewer()
def get(skill_name: SkillName, trial_id: TrialId, services: Services) -> TrialView:
    """One trial, and how it ended."""
    return _shown(services, services.trials.get(skill_name, trial_id))


async def over_within(services: Services, request: Request, trial: Trial, wait_ms: int) -> Trial:
    """The trial once it is over, when the time is up, or when nobody listens any more."""
    # Before its idempotency key would be free again for a repeat, which would start another one.
    most = KEYED_WAIT_MS if HEADER in request.headers else MAX_WAIT_MS
    until = time.monotonic() + min(wait_ms, most) / 1000
    while trial.state is TrialState.PENDING and (left := until - time.monotonic()) > 0:
        # A stop of the daemon is no reason to fail: the trial goes on when it is back.
        if services.ground.shutting_down.is_set() or await request.is_disconnected():
            break
        await asyncio.sleep(min(LOOK_S, left))
        trial = await asyncio.to_thread(services.trials.get, trial.skill_name, trial.trial_id)
    return trial


def _shown(services: Services, trial: Trial) -> TrialView:
    return trial_view(trial, services.trials.cases(trial))
