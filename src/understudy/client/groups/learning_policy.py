"""Calls about the learning policy."""

from collections.abc import Mapping
from typing import Any

from understudy.client.calls import at, get, given, post
from understudy.client.groups.resource import Resource
from understudy.wire.base import Items
from understudy.wire.learning_policy import (
    LearningPolicyDryRunView,
    LearningPolicyRevisionView,
    LearningPolicyView,
)

_policy = LearningPolicyView.model_validate


class LearningPolicy(Resource):
    """What is captured, what automation may do, and who is asked first."""

    def get(self) -> LearningPolicyView:
        """The policy in force."""
        return self.transport.send(get(_path(), _policy))

    def set(
        self, policy: Mapping[str, Any], *, expected_revision: int | None = None
    ) -> LearningPolicyView:
        """Replace the policy; what is left out takes its default."""
        fields = {"policy": dict(policy), **given(expected_revision=expected_revision)}
        return self.transport.send(post(_path(), _policy, fields))

    def revisions(
        self, *, limit: int | None = None, cursor: str | None = None
    ) -> Items[LearningPolicyRevisionView]:
        """The policy as it stood after each kept change of it, newest first."""
        read = Items[LearningPolicyRevisionView].model_validate
        query = given(limit=limit, cursor=cursor)
        return self.transport.send(get(_path("revisions"), read, **query))

    def roll_back(
        self, target_revision: int | None = None, *, expected_revision: int | None = None
    ) -> LearningPolicyView:
        """Bring an earlier policy back; the one before when none is named."""
        fields = given(target_revision=target_revision, expected_revision=expected_revision)
        return self.transport.send(post(_path("rollback"), _policy, fields))

    def dry_run(
        self, policy: Mapping[str, Any], *, days: int | None = None
    ) -> LearningPolicyDryRunView:
        """What a policy would make of what waits, and of what was decided in the last days."""
        fields = {"policy": dict(policy), **given(days=days)}
        read = LearningPolicyDryRunView.model_validate
        return self.transport.send(post(_path("dry-run"), read, fields))


def _path(*more: str) -> str:
    return at("runtime", "learning-policy", *more)
