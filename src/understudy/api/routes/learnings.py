"""Learnings: what is known, where it came from, and how it is taken back."""

from typing import Annotated, Final

from fastapi import APIRouter, Path

from understudy.api.gate import GatedRoute
from understudy.api.learning_bodies import replacement
from understudy.api.learning_filters import WhichLearnings, learning_filter
from understudy.api.operations import operator, viewer
from understudy.api.paging import Paging, items
from understudy.api.services import Caller, Services
from understudy.api.views.learnings import learning_view, published_view
from understudy.api.views.lineage import lineage_view, revoked_view
from understudy.core.principal import Role
from understudy.wire.base import Items
from understudy.wire.learning_requests import (
    RevokeLearning,
    RevokeMatching,
    SupersedeLearning,
)
from understudy.wire.learnings import (
    LearningView,
    LineageView,
    PublishedView,
    RevokedMatchingView,
)

router = APIRouter(tags=["learning"], route_class=GatedRoute)
LearningId = Annotated[str, Path(description="id of the learning")]
ALL: Final = "/v1/learnings"
ONE: Final = ALL + "/{learning_id}"


@router.get(ALL, operation_id="learnings.list")
@viewer()
def list_learnings(services: Services, page: Paging, which: WhichLearnings) -> Items[LearningView]:
    """Learnings of every status, oldest first."""
    return items(services.learning.learnings.page(page, narrowed=which), learning_view)


@router.post(ALL + "/revoke-matching", operation_id="learnings.revoke_matching")
# With `all` only an admin may.
@operator(action="learnings.revoke")
def revoke_matching(
    services: Services, caller: Caller, body: RevokeMatching | None = None
) -> RevokedMatchingView:
    """Take back all that a filter finds; never without a filter, unless an admin says `all`."""
    wanted = body or RevokeMatching()
    if wanted.all:
        caller.require(Role.ADMIN)
    revoked = services.learning.learnings.revoke_matching(
        caller,
        learning_filter(wanted),
        reason=wanted.reason,
        dry_run=wanted.dry_run,
        everything=wanted.all,
    )
    return revoked_view(revoked, dry_run=wanted.dry_run)


@router.get(ONE, operation_id="learnings.get")
@viewer()
def get(learning_id: LearningId, services: Services) -> LearningView:
    """One learning."""
    return learning_view(services.learning.learnings.get(learning_id))


@router.get(ONE + "/lineage", operation_id="learnings.lineage")
@viewer()
def lineage(learning_id: LearningId, services: Services, page: Paging) -> LineageView:
    """Where it came from, and which runs were told of it; `limit` and `cursor` are of the uses."""
    return lineage_view(services.learning.learnings.lineage(learning_id, page))


@router.post(ONE + "/revoke", operation_id="learnings.revoke")
@operator()
def revoke(
    learning_id: LearningId, services: Services, caller: Caller, body: RevokeLearning | None = None
) -> LearningView:
    """Take it back: no prompt tells of it again."""
    reason = body.reason if body else None
    return learning_view(services.learning.learnings.revoke(caller, learning_id, reason=reason))


@router.post(ONE + "/supersede", operation_id="learnings.supersede")
@operator()
def supersede(
    learning_id: LearningId, body: SupersedeLearning, services: Services, caller: Caller
) -> PublishedView:
    """Put another in its place; answers the replacement, also when it was made before."""
    return published_view(
        services.learning.learnings.supersede(caller, learning_id, replacement(body))
    )
