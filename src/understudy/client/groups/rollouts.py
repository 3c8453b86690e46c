"""Calls about rollouts: procedures that become skills, stage by stage."""

import time
from collections.abc import Iterator, Mapping
from typing import Final, TypedDict, Unpack

from understudy.client.calls import at, get, given, post
from understudy.client.errors import NoNextStage, WaitTimeout
from understudy.client.groups.resource import Resource, body, every
from understudy.client.groups.runs import FIRST_LOOK_S, LAST_LOOK_S
from understudy.wire.base import Items
from understudy.wire.rollout_requests import PromoteSkill, RolloutResult, StartTrial
from understudy.wire.rollouts import (
    LifecycleEventView,
    RolloutDiff,
    RolloutSummary,
    RolloutView,
    SnapshotView,
    Stage,
    TrialView,
)

# Why a skill goes no further by itself.
ENDED: Final = "no stage comes after it"
ENDS: Final[Mapping[str, str]] = {
    "active": "no stage comes after it; to change what it says, revoke it and promote it again",
    "revoked": "roll it back to have it in force as it was, or have it as a draft to begin anew",
}

_view = RolloutView.model_validate
_trial = TrialView.model_validate


class WhichRollouts(TypedDict, total=False):
    """Which rollouts a list shows; what is left out does not narrow."""

    source_learning_id: str | None
    status: str | None


class Rollouts(Resource):
    """Promoted skills by name."""

    def get(self, skill_name: str) -> RolloutView:
        """One promoted skill, with what its next stage asks for."""
        return self.transport.send(get(_path(skill_name), _view))

    def page(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        **which: Unpack[WhichRollouts],
    ) -> Items[RolloutSummary]:
        """Some promoted skills, by name."""
        read = Items[RolloutSummary].model_validate
        return self.transport.send(get(_path(), read, **given(limit=limit, cursor=cursor, **which)))

    def list(self, **which: Unpack[WhichRollouts]) -> Iterator[RolloutSummary]:
        """All promoted skills, by name."""
        return every(lambda cursor: self.page(cursor=cursor, **which))

    def promote(
        self, learning_id: str, wanted: PromoteSkill, *, key: str | None = None
    ) -> RolloutView:
        """Make a draft of a procedure; again for the same skill, change it or move it on."""
        path = at("learnings", learning_id, "promote-skill")
        return self.transport.send(post(path, _view, body(wanted), key=key))

    def advance(
        self, skill_name: str, *, to: Stage | None = None, key: str | None = None
    ) -> RolloutView:
        """Have it in its next stage, or in another, with exactly the definition that it has."""
        now = self.get(skill_name)
        stage = to or _next(now)
        return self.promote(now.source_learning_id, same_definition(now, stage), key=key)

    def result(
        self, skill_name: str, wanted: RolloutResult, *, key: str | None = None
    ) -> RolloutView:
        """Have a run count as evidence."""
        path = _path(skill_name, "rollout-result")
        return self.transport.send(post(path, _view, body(wanted), key=key))

    def hold(
        self, skill_name: str, *, reason: str | None = None, key: str | None = None
    ) -> RolloutView:
        """Let it go no further for now."""
        return self._act(skill_name, "hold", reason, key)

    def release(
        self, skill_name: str, *, reason: str | None = None, key: str | None = None
    ) -> RolloutView:
        """Let one that is held go on."""
        return self._act(skill_name, "release", reason, key)

    def revoke(
        self, skill_name: str, *, reason: str | None = None, key: str | None = None
    ) -> RolloutView:
        """Take it back; the record stays."""
        return self._act(skill_name, "revoke", reason, key)

    def rollback(
        self, skill_name: str, *, reason: str | None = None, key: str | None = None
    ) -> RolloutView:
        """Have a revoked one in force again, as it last was."""
        return self._act(skill_name, "rollback", reason, key)

    def events_page(
        self, skill_name: str, *, limit: int | None = None, cursor: str | None = None
    ) -> Items[LifecycleEventView]:
        """Some of what happened to it, oldest first."""
        read = Items[LifecycleEventView].model_validate
        query = given(limit=limit, cursor=cursor)
        return self.transport.send(get(_path(skill_name, "events"), read, **query))

    def events(self, skill_name: str) -> Iterator[LifecycleEventView]:
        """Everything that happened to it, oldest first."""
        return every(lambda cursor: self.events_page(skill_name, cursor=cursor))

    def history_page(
        self, skill_name: str, *, limit: int | None = None, cursor: str | None = None
    ) -> Items[SnapshotView]:
        """How it was before some of its changes, newest first."""
        read = Items[SnapshotView].model_validate
        query = given(limit=limit, cursor=cursor)
        return self.transport.send(get(_path(skill_name, "history"), read, **query))

    def history(self, skill_name: str) -> Iterator[SnapshotView]:
        """How it was before each change, newest first."""
        return every(lambda cursor: self.history_page(skill_name, cursor=cursor))

    def diff(self, skill_name: str, old: int | None = None, new: int | None = None) -> RolloutDiff:
        """What changed between two revisions; by default since it last said something else."""
        query = given(**{"from": old, "to": new})
        return self.transport.send(
            get(_path(skill_name, "diff"), RolloutDiff.model_validate, **query)
        )

    def trial(
        self, skill_name: str, wanted: StartTrial | None = None, *, key: str | None = None
    ) -> TrialView:
        """Have the daemon execute exactly the current definition, once or on recorded runs."""
        said = {} if wanted is None else body(wanted)
        return self.transport.send(post(_path(skill_name, "trial"), _trial, said, key=key))

    def get_trial(self, skill_name: str, trial_id: str) -> TrialView:
        """One trial."""
        return self.transport.send(get(_path(skill_name, "trials", trial_id), _trial))

    def wait_trial(
        self, skill_name: str, trial_id: str, *, timeout_s: float | None = None
    ) -> TrialView:
        """The trial once it is over; `WaitTimeout` when that takes too long."""
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        pause = FIRST_LOOK_S
        trial = self.get_trial(skill_name, trial_id)
        while trial.state == "pending":
            if deadline is not None and time.monotonic() + pause > deadline:
                raise WaitTimeout(f"trial {trial_id} is still {trial.state} after {timeout_s:g} s")
            self.transport.retries.sleep(pause)
            pause = min(pause * 1.5, LAST_LOOK_S)
            trial = self.get_trial(skill_name, trial_id)
        return trial

    def trials_page(
        self, skill_name: str, *, limit: int | None = None, cursor: str | None = None
    ) -> Items[TrialView]:
        """Some trials, newest first."""
        read = Items[TrialView].model_validate
        query = given(limit=limit, cursor=cursor)
        return self.transport.send(get(_path(skill_name, "trials"), read, **query))

    def trials(self, skill_name: str) -> Iterator[TrialView]:
        """All trials, newest first."""
        return every(lambda cursor: self.trials_page(skill_name, cursor=cursor))

    def _act(self, skill_name: str, verb: str, reason: str | None, key: str | None) -> RolloutView:
        path = _path(skill_name, verb)
        return self.transport.send(post(path, _view, given(reason=reason), key=key))


def same_definition(rollout: RolloutView, stage: Stage) -> PromoteSkill:
    """What moves a skill to a stage and leaves everything that it says as it is."""
    said = ("skill_name", "instructions", "description", "when_to_use", "version")
    fields = {name: getattr(rollout, name) for name in said}
    return PromoteSkill(**fields, **rollout.runtime.model_dump(), status=stage)


def _next(now: RolloutView) -> Stage:
    if now.next is None:
        raise NoNextStage(f"{now.skill_name} is {now.status}: {ENDS.get(now.status, ENDED)}")
    return now.next.status


def _path(*more: str) -> str:
    return at("learning-skills", *more)
