"""Which candidates or learnings a caller asks for, in a query or in a body."""

from typing import Annotated

from fastapi import Depends, Query

from understudy.learnings.checks import scope_filter
from understudy.learnings.filters import CandidateFilter, LearningFilter
from understudy.learnings.model import CandidateState, Kind, LearningStatus, PolicyDecision
from understudy.sessions.learning_scopes import LearningScope, ScopeKind
from understudy.wire import learnings as wire
from understudy.wire import memory as memory_wire
from understudy.wire.learning_requests import CandidateFilterBody, LearningFilterBody

Text = Annotated[str | None, Query(description="part of id, scope, kind, content or source run")]
OfScopeKind = Annotated[
    memory_wire.ScopeKind | None,
    Query(description="only of this scope; all but the workspace need `scope_id` as well"),
]
OfScope = Annotated[str | None, Query(description="the id of that scope")]
OfKind = Annotated[wire.Kind | None, Query(description="only of this kind")]


def _candidates(
    query: Text = None,
    scope_kind: OfScopeKind = None,
    scope_id: OfScope = None,
    kind: OfKind = None,
    state: Annotated[wire.CandidateState | None, Query(description="only in this state")] = None,
) -> CandidateFilter:
    return candidate_filter(
        CandidateFilterBody(
            query=query, scope_kind=scope_kind, scope_id=scope_id, kind=kind, state=state
        )
    )


def _learnings(
    query: Text = None,
    scope_kind: OfScopeKind = None,
    scope_id: OfScope = None,
    kind: OfKind = None,
    status: Annotated[wire.LearningStatus | None, Query(description="only of this status")] = None,
    policy_decision: Annotated[
        wire.PolicyDecision | None, Query(description="only those that were decided so")
    ] = None,
    policy_actor: Annotated[
        str | None, Query(description="only those decided by `operator` or `daemon`")
    ] = None,
    matched_rule_name: Annotated[
        str | None, Query(description="only from candidates that this rule matched")
    ] = None,
) -> LearningFilter:
    return learning_filter(
        LearningFilterBody(
            query=query,
            scope_kind=scope_kind,
            scope_id=scope_id,
            kind=kind,
            status=status,
            policy_decision=policy_decision,
            policy_actor=policy_actor,
            matched_rule_name=matched_rule_name,
        )
    )


WhichCandidates = Annotated[CandidateFilter, Depends(_candidates)]
WhichLearnings = Annotated[LearningFilter, Depends(_learnings)]


def candidate_filter(given: CandidateFilterBody) -> CandidateFilter:
    """The filter that a caller described; blank text does not narrow."""
    return CandidateFilter(
        query=given.query,
        scope=_scope(given),
        kind=None if given.kind is None else Kind(given.kind),
        state=None if given.state is None else CandidateState(given.state),
    )


def learning_filter(given: LearningFilterBody) -> LearningFilter:
    """The filter that a caller described; blank text does not narrow."""
    decision = given.policy_decision
    return LearningFilter(
        query=given.query,
        scope=_scope(given),
        kind=None if given.kind is None else Kind(given.kind),
        status=None if given.status is None else LearningStatus(given.status),
        policy_decision=None if decision is None else PolicyDecision(decision),
        policy_actor=given.policy_actor,
        matched_rule_name=given.matched_rule_name,
    )


def _scope(given: CandidateFilterBody | LearningFilterBody) -> LearningScope | None:
    kind = None if given.scope_kind is None else ScopeKind(given.scope_kind)
    return scope_filter(kind, given.scope_id)
