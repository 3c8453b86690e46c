"""Learnings: list, lineage, changes, revocation."""

from typing import Annotated, Final

from fastapi import APIRouter, Depends, Path, Query
from fastapi.concurrency import run_in_threadpool

from understudy.api.bodies import record_of
from understudy.api.gate import GatedRoute
from understudy.api.operations import operator, viewer
from understudy.api.paging import Paging
from understudy.api.services import Caller, Services
from understudy.core.errors import coded_error
from understudy.core.page import Page
from understudy.core.principal import Role
from understudy.core.records import extended
from understudy.learnings.checks import scope_filter
from understudy.learnings.lineage import Lineage
from understudy.learnings.model import (
    Applies,
    Kind,
    Learning,
    LearningFilter,
    LearningStatus,
    PolicyDecision,
    Tier,
    Verification,
    related,
)
from understudy.learnings.proposal import NewCandidate
from understudy.learnings.publication import PublishChanges, Published, PublishedLearning
from understudy.learnings.service import LearningChanges, Replacement
from understudy.sessions.learning_scopes import ScopeKind
from understudy.wire.learnings import (
    ChangeLearning,
    CreateLearning,
    LearningFilterBody,
    RevokedLearnings,
    RevokeLearning,
    RevokeMatching,
    SupersedeLearning,
)

router = APIRouter(tags=["learning"], route_class=GatedRoute)
LearningId = Annotated[str, Path(description="id of the learning")]
# The largest time that every database can store.
LAST_MS: Final = 2**53 - 1
ALL: Final = "/v1/learnings"
ONE: Final = ALL + "/{learning_id}"

Text = Annotated[str | None, Query(description="part of id, scope, kind, content or source run")]
OfScopeKind = Annotated[
    ScopeKind | None,
    Query(description="only of this scope; all but the workspace need `scope_id` as well"),
]
OfScope = Annotated[str | None, Query(description="the id of that scope")]
OfKind = Annotated[Kind | None, Query(description="only of this kind")]

OfApplies = Annotated[
    Applies | None, Query(description="only those told `always`, or only `when_relevant`")
]
Reviewed = Annotated[
    bool,
    Query(description="not found unless it was reviewed and is in force, as for connected agents"),
]


def learning_filter(given: LearningFilterBody) -> LearningFilter:
    """The filter that a caller described; blank text does not narrow."""
    return record_of(LearningFilter, given, scope=scope_filter(given.scope_kind, given.scope_id))


async def _filter_of_query(
    query: Text = None,
    scope_kind: OfScopeKind = None,
    scope_id: OfScope = None,
    kind: OfKind = None,
    applies: OfApplies = None,
    status: Annotated[LearningStatus | None, Query(description="only of this status")] = None,
    publish_tier: Annotated[
        Tier | None, Query(description="only those published in this tier")
    ] = None,
    verification_status: Annotated[
        Verification | None, Query(description="only those with this result of verification")
    ] = None,
    policy_decision: Annotated[
        PolicyDecision | None, Query(description="only those that were decided so")
    ] = None,
    policy_actor: Annotated[
        str | None, Query(description="only those decided by `operator` or `daemon`")
    ] = None,
    matched_rule_name: Annotated[
        str | None, Query(description="only from candidates that this rule matched")
    ] = None,
    published_after_ms: Annotated[
        int | None,
        Query(ge=0, le=LAST_MS, description="only those published at this time or later"),
    ] = None,
    published_before_ms: Annotated[
        int | None, Query(ge=0, le=LAST_MS, description="only those published before this time")
    ] = None,
    used: Annotated[
        bool | None, Query(description="only those that a run was told of, or only the others")
    ] = None,
) -> LearningFilter:
    return learning_filter(
        LearningFilterBody(
            query=query,
            scope_kind=scope_kind,
            scope_id=scope_id,
            kind=kind,
            applies=applies,
            status=status,
            publish_tier=publish_tier,
            verification_status=verification_status,
            policy_decision=policy_decision,
            policy_actor=policy_actor,
            matched_rule_name=matched_rule_name,
            published_after_ms=published_after_ms,
            published_before_ms=published_before_ms,
            used=used,
        )
    )


@router.get(ALL, operation_id="learnings.list")
@viewer()
def list_learnings(
    services: Services,
    page: Paging,
    which: Annotated[LearningFilter, Depends(_filter_of_query)],
    newest: Annotated[bool, Query(description="the newest first")] = False,
) -> Page[Learning]:
    """List learnings of every status, oldest or newest first."""
    return services.learning.learnings.page(page, narrowed=which, newest=newest)


@router.post(ALL, operation_id="learnings.create")
@operator(action="learning_candidates.publish")
async def create(body: CreateLearning, services: Services, caller: Caller) -> PublishedLearning:
    """Propose and publish in one step; one that says the same already is answered instead."""
    service, wanted = services.learning.candidates, record_of(NewCandidate, body)
    changes = PublishChanges(supersedes=body.supersedes, beside=body.beside)
    compared = await service.compared(wanted, changes)
    return published_learning(await run_in_threadpool(service.learn, caller, wanted, compared))


@router.post(ALL + "/revoke-matching", operation_id="learnings.revoke_matching")
# `all` requires the role admin.
@operator(action="learnings.revoke")
def revoke_matching(
    services: Services, caller: Caller, body: RevokeMatching | None = None
) -> RevokedLearnings:
    """Revoke all learnings that a filter finds; never without a filter, unless an admin says `all`."""
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
    return RevokedLearnings(dry_run=wanted.dry_run, items=revoked)


@router.get(ONE, operation_id="learnings.get")
@viewer(by_client=True)
def get(
    learning_id: LearningId, services: Services, caller: Caller, reviewed: Reviewed = False
) -> Learning:
    """Show a learning."""
    if reviewed or caller.role is Role.CLIENT:
        return services.inspection.learning(learning_id)
    return services.learning.learnings.get(learning_id)


@router.put(ONE, operation_id="learnings.change")
@operator()
def change(
    learning_id: LearningId, body: ChangeLearning, services: Services, caller: Caller
) -> Learning:
    """Change when a learning is injected, whether it is sensitive, or when it expires."""
    if not body.model_fields_set:
        raise coded_error("learnings/nothing_to_change")
    wanted = record_of(LearningChanges, body, ends_never="expires_at_ms" in body.model_fields_set)
    return services.learning.learnings.change(caller, learning_id, wanted)


@router.get(ONE + "/lineage", operation_id="learnings.lineage")
@viewer()
def lineage(learning_id: LearningId, services: Services, page: Paging) -> Lineage:
    """Show where a learning came from, and the runs it was injected into; `limit` is of the runs."""
    return services.learning.learnings.lineage(learning_id, page)


@router.post(ONE + "/revoke", operation_id="learnings.revoke")
@operator()
def revoke(
    learning_id: LearningId, services: Services, caller: Caller, body: RevokeLearning | None = None
) -> Learning:
    """Revoke a learning: no prompt has it again."""
    reason = body.reason if body else None
    return services.learning.learnings.revoke(caller, learning_id, reason=reason)


@router.post(ONE + "/supersede", operation_id="learnings.supersede")
@operator()
def supersede(
    learning_id: LearningId, body: SupersedeLearning, services: Services, caller: Caller
) -> PublishedLearning:
    """Replace a learning by another; answers the replacement, also when it was made before."""
    wanted = record_of(Replacement, body)
    return published_learning(services.learning.learnings.supersede(caller, learning_id, wanted))


def published_learning(published: Published) -> PublishedLearning:
    """The answer to a publication."""
    return extended(
        PublishedLearning,
        published.learning,
        contradicts=related(published.contradicts),
        already=published.already or None,
        neighbours=published.neighbours,
        reach=published.reach,
    )
