"""Calls about learnings: what is known, where it came from, and how it is taken back."""

from collections.abc import Iterator
from typing import TypedDict, Unpack

from understudy.client.calls import at, get, given, post
from understudy.client.groups.resource import Resource, body, every
from understudy.wire.base import Items
from understudy.wire.learning_requests import RevokeMatching, SupersedeLearning
from understudy.wire.learnings import (
    LearningView,
    LineageView,
    PublishedView,
    RevokedMatchingView,
    UseView,
)

_view = LearningView.model_validate


class WhichLearnings(TypedDict, total=False):
    """Which learnings a list shows; what is left out does not narrow."""

    query: str | None
    scope_kind: str | None
    scope_id: str | None
    kind: str | None
    status: str | None
    policy_decision: str | None
    policy_actor: str | None
    matched_rule_name: str | None


class Learnings(Resource):
    """What is known."""

    def get(self, learning_id: str) -> LearningView:
        """One learning."""
        return self.transport.send(get(_path(learning_id), _view))

    def page(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        **which: Unpack[WhichLearnings],
    ) -> Items[LearningView]:
        """Some learnings, oldest first."""
        read = Items[LearningView].model_validate
        query = given(limit=limit, cursor=cursor, **which)
        return self.transport.send(get(_path(), read, **query))

    def list(self, **which: Unpack[WhichLearnings]) -> Iterator[LearningView]:
        """All learnings, oldest first."""
        return every(lambda cursor: self.page(cursor=cursor, **which))

    def revoke(
        self, learning_id: str, *, reason: str | None = None, key: str | None = None
    ) -> LearningView:
        """Take it back: no prompt tells of it again."""
        path = _path(learning_id, "revoke")
        return self.transport.send(post(path, _view, given(reason=reason), key=key))

    def supersede(
        self, learning_id: str, wanted: SupersedeLearning, *, key: str | None = None
    ) -> PublishedView:
        """Put another in its place; answers the replacement."""
        path = _path(learning_id, "supersede")
        return self.transport.send(post(path, PublishedView.model_validate, body(wanted), key=key))

    def revoke_matching(
        self, which: RevokeMatching, *, key: str | None = None
    ) -> RevokedMatchingView:
        """Take back all that a filter finds, or with `dry_run` only list them."""
        read = RevokedMatchingView.model_validate
        return self.transport.send(post(_path("revoke-matching"), read, body(which), key=key))

    def lineage(
        self, learning_id: str, *, limit: int | None = None, cursor: str | None = None
    ) -> LineageView:
        """Where it came from, and some of the runs that were told of it, newest first."""
        path = _path(learning_id, "lineage")
        query = given(limit=limit, cursor=cursor)
        return self.transport.send(get(path, LineageView.model_validate, **query))

    def uses(self, learning_id: str) -> Iterator[UseView]:
        """All runs that were told of it, newest first."""
        return every(lambda cursor: self.lineage(learning_id, cursor=cursor).uses)


def _path(*more: str) -> str:
    return at("learnings", *more)
