"""Runs of trials and replays: each in a session and a folder of its own."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast

import structlog

from understudy.agents.built_in import NOT_OF_VERIFICATION
from understudy.core.clock import Clock
from understudy.core.errors import DatabaseUnavailable, UnderstudyError, coded_error
from understudy.core.principal import DAEMON, Principal
from understudy.permissions.model import CallRule, PermissionDecision
from understudy.rollout.model import Rollout
from understudy.rollout.worktrees import Worktrees
from understudy.runs.intake import RunIntake
from understudy.runs.model import TRIAL_SOURCE, InputItem, Run
from understudy.runs.submission import Submission
from understudy.sessions.creation import NewSession, open_session
from understudy.sessions.model import Session
from understudy.sessions.scopes import ROUTES_ONLY
from understudy.skills.tools.fork import ForkTools, tools_for_promoted
from understudy.tools.base import ToolError

if TYPE_CHECKING:
    from understudy.storage.unit import Unit


log = structlog.get_logger()

SOURCE_PLUGIN: Final = "rollout"
# A run without the skill has all tools of a trial.
WITHOUT: Final = ForkTools()
NOT_IN_TRIALS: Final[Mapping[str, str]] = {
    "ask_user": "nobody is there to answer: this only tries a skill out",
    **NOT_OF_VERIFICATION,
}
TRIAL_RULES: Final = tuple(
    CallRule(tool=tool, decision=PermissionDecision.DENY, reason=reason)
    for tool, reason in NOT_IN_TRIALS.items()
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialInput:
    """The input of a run, and whether it executes the skill."""

    items: tuple[InputItem, ...]
    has_skill: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialPlace:
    """Which trial a run is for, and the folder that it works in."""

    trial_id: str
    workdir: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialRuns:
    """Starts and stops the runs of trials."""

    clock: Clock
    intake: RunIntake
    worktrees: Worktrees
    # All tool names; a skill may allow some of them.
    tool_names: Callable[[], Sequence[str]]
    # Cancels a run.
    cancel: Callable[[Principal, str], object]
    # The HEAD commit of the workspace, if it has one.
    committed: Callable[[], str | None] = lambda: None

    def claim(self, skill_name: str, name: str) -> str:
        """A new folder for a run."""
        try:
            return self.worktrees.claim(skill_name, name)
        except ToolError as problem:
            raise coded_error("rollout/worktree_missing", detail=problem.detail) from None

    def start(
        self,
        unit: "Unit",
        principal: Principal,
        rollout: Rollout,
        given: TrialInput,
        place: TrialPlace,
    ) -> Run:
        """A run in a new session, queued once the unit has committed."""
        session = self._open(unit, principal, rollout, place, has_skill=given.has_skill)
        run, _ = self.intake.take(unit, principal, session, _submission(rollout, given))
        return run

    def stop(self, run_ids: Iterable[str]) -> None:
        """Cancel runs that no longer count. Not while a unit is open."""
        for run_id in run_ids:
            try:
                self.cancel(DAEMON, run_id)
            except DatabaseUnavailable:
                raise
            except UnderstudyError as problem:
                # A run that cannot be read does not keep the others from being cancelled.
                log.warning("trial.not_stopped", run_id=run_id, code=problem.code)

    def _open(
        self,
        unit: "Unit",
        principal: Principal,
        rollout: Rollout,
        place: TrialPlace,
        *,
        has_skill: bool,
    ) -> Session:
        settings, name = rollout.definition.runtime, rollout.skill_name
        tools = WITHOUT
        if has_skill:
            tools = tools_for_promoted(settings, name, self.tool_names())
        wanted = NewSession(
            agent_id=settings.agent_profile,
            # The executing run does not use the skill again, and the run without it is not offered
            # it, although it may be a canary.
            capability_scope={**tools.capabilities, "skill_deny": [name]},
            credential_scope=tools.credentials or ROUTES_ONLY.to_json(),
            denied=(*TRIAL_RULES, *tools.denied),
            workdir=place.workdir,
            trial_id=place.trial_id,
        )
        # The session has a new id, so it cannot exist already.
        return cast("Session", open_session(unit, principal, wanted, now_ms=self.clock.now_ms()))


def is_of_trial(run: Run) -> bool:
    """Whether a run belongs to a trial or replay, directly or as a sidechain."""
    return run.trial_id is not None


def _submission(rollout: Rollout, given: TrialInput) -> Submission:
    settings = rollout.definition.runtime
    return Submission(
        input_items=given.items,
        source_plugin=SOURCE_PLUGIN,
        source_kind=TRIAL_SOURCE,
        actor_id=rollout.skill_name,
        provider=settings.provider,
        generation={} if settings.model is None else {"model": settings.model},
        fallback_model=settings.fallback_model,
        # Only the trial reads the output.
        reply_targets=(),
        skill_fingerprint=rollout.fingerprint if given.has_skill else None,
    )
