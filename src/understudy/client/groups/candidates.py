"""Calls about candidates: what might be worth knowing, and what becomes of it."""

from collections.abc import Iterator
from typing import TypedDict, Unpack

from understudy.client.calls import at, get, given, post
from understudy.client.groups.resource import Resource, body, every
from understudy.wire.base import Items
from understudy.wire.learning_policy import CandidateExplainView
from understudy.wire.learning_requests import BulkDecision, CreateCandidate, PublishCandidate
from understudy.wire.learnings import (
    BulkDecisionView,
    CandidateView,
    NextItemView,
    PublishedView,
    ReviewItemView,
)

_view = CandidateView.model_validate


class WhichCandidates(TypedDict, total=False):
    """Which candidates a list shows; what is left out does not narrow."""

    query: str | None
    scope_kind: str | None
    scope_id: str | None
    kind: str | None
    state: str | None


class Candidates(Resource):
    """What waits for review, and what was decided."""

    def create(self, wanted: CreateCandidate, *, key: str | None = None) -> CandidateView:
        """Propose something worth knowing."""
        return self.transport.send(post(_path(), _view, body(wanted), key=key))

    def get(self, candidate_id: str) -> ReviewItemView:
        """A candidate with what whoever decides should know."""
        return self.transport.send(get(_path(candidate_id), ReviewItemView.model_validate))

    def next(self, *, after: str | None = None) -> ReviewItemView | None:
        """The one that has waited longest for a person, after one that is passed over."""
        return self.transport.send(
            get(_path("next"), NextItemView.model_validate, after=after)
        ).item

    def explain(self, candidate_id: str) -> CandidateExplainView:
        """What the policy in force makes of it, rule by rule."""
        read = CandidateExplainView.model_validate
        return self.transport.send(get(_path(candidate_id, "explain"), read))

    def page(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        **which: Unpack[WhichCandidates],
    ) -> Items[CandidateView]:
        """Some candidates, oldest first."""
        read = Items[CandidateView].model_validate
        query = given(limit=limit, cursor=cursor, **which)
        return self.transport.send(get(_path(), read, **query))

    def list(self, **which: Unpack[WhichCandidates]) -> Iterator[CandidateView]:
        """All candidates, oldest first."""
        return every(lambda cursor: self.page(cursor=cursor, **which))

    def publish(
        self, candidate_id: str, wanted: PublishCandidate | None = None, *, key: str | None = None
    ) -> PublishedView:
        """Make a learning of it; what is left out is taken from the candidate."""
        fields = body(wanted or PublishCandidate())
        path = _path(candidate_id, "publish")
        return self.transport.send(post(path, PublishedView.model_validate, fields, key=key))

    def reject(
        self, candidate_id: str, *, reason: str | None = None, key: str | None = None
    ) -> CandidateView:
        """Say no to it; the same is not proposed again without new evidence."""
        path = _path(candidate_id, "reject")
        return self.transport.send(post(path, _view, given(reason=reason), key=key))

    def bulk(self, decision: BulkDecision, *, key: str | None = None) -> BulkDecisionView:
        """Decide about many at once, or see with `dry_run` what would be refused and why."""
        read = BulkDecisionView.model_validate
        return self.transport.send(post(_path("bulk"), read, body(decision), key=key))


def _path(*more: str) -> str:
    return at("learning-candidates", *more)
