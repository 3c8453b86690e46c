"""Wiring of the rollout services."""

from collections.abc import Mapping
from typing import Final

import structlog

from understudy.core.errors import UnderstudyError
from understudy.daemon.resources import Resources
from understudy.daemon.rollout_status import RolloutStatus
from understudy.daemon.skills import SkillSources
from understudy.learnings.events import NO_LISTENERS, Listeners
from understudy.learnings.guard import SecretGuard
from understudy.memory.texts import Cleaner
from understudy.providers.structured import StructuredModel
from understudy.review.policy import judge_in, promotion_in
from understudy.rollout.canary_share import CanaryShare, make_secret
from understudy.rollout.caveats import Caveats
from understudy.rollout.changes import (
    RolloutCounters,
    RolloutTransactions,
    StopTrials,
    nothing_to_stop,
)
from understudy.rollout.model import Stage
from understudy.rollout.mounts import MountKeeper, MountSync
from understudy.rollout.name_clashes import CatalogueNames, Shadows
from understudy.rollout.outcome_recorder import OutcomeRecorder
from understudy.rollout.promoted_skills import CHOSEN, Chooses, PromotedSkills
from understudy.rollout.repair import MountRepair
from understudy.rollout.replay.judge import ReplayJudge
from understudy.rollout.replay.service import ReplayStarter
from understudy.rollout.replay.work import ReplayDuty, ReplayNews
from understudy.rollout.service import RolloutService
from understudy.rollout.source_learnings import ExpiredSources, LinkedRollouts
from understudy.rollout.trials.runs import TrialRuns
from understudy.rollout.trials.service import TrialService

log = structlog.get_logger()

# Sessions that are offered a promoted skill, by its stage; none in any other.
OFFERED: Final[Mapping[Stage, Chooses]] = {
    **CHOSEN,
    Stage.CANARY: CanaryShare(policy_of=promotion_in),
}


class RolloutServices:
    """Services of rollouts: promotion, trials, replays, mounts. The learning services call them."""

    def __init__(
        self, resources: Resources, sources: SkillSources, stop_trials: StopTrials = nothing_to_stop
    ) -> None:
        self._resources = resources
        self._stop_trials = stop_trials
        self._local = sources.local
        self.counters = RolloutCounters()
        self._keeper = MountKeeper(sources.mounts, Shadows(sources.local.known))
        self.mounts = MountSync(units=resources.units, keeper=self._keeper, guard=sources.guard)
        self.repair = MountRepair(resources.units, self._keeper)
        self.skills = PromotedSkills(self._keeper, self.repair, OFFERED, clock=resources.clock)
        # Revokes a promoted skill together with its learning.
        self.linked = LinkedRollouts(transactions=self.transactions(NO_LISTENERS))
        self.replay_news = ReplayNews(resources.bell)
        self.status = RolloutStatus(
            units=resources.units,
            keeper=self._keeper,
            unreadable=lambda: self.repair.unreadable,
            counted=self.counters.snapshot,
            clock=resources.clock,
        )

    def transactions(self, listeners: Listeners) -> RolloutTransactions:
        """The transactions of rollouts, with the listeners for candidates."""
        return RolloutTransactions(
            clock=self._resources.clock,
            mounts=self.mounts,
            observer=self.counters,
            listeners=listeners,
            stop_trials=self._stop_trials,
        )

    def service(self, guard: SecretGuard, listeners: Listeners, caveats: Caveats) -> RolloutService:
        """The service for rollouts."""
        return RolloutService(
            units=self._resources.units,
            transactions=self.transactions(listeners),
            policy_of=promotion_in,
            is_taken=CatalogueNames(self._keeper.shadows),
            guard=guard,
            caveats=caveats,
        )

    def outcomes(self, listeners: Listeners) -> OutcomeRecorder:
        """The recorder of uses of promoted skills, which also demotes them."""
        return OutcomeRecorder(
            units=self._resources.units,
            transactions=self.transactions(listeners),
            policy_of=promotion_in,
        )

    def trials(self, runs: TrialRuns, guard: SecretGuard, listeners: Listeners) -> TrialService:
        """The service for trials."""
        return TrialService(
            units=self._resources.units,
            transactions=self.transactions(listeners),
            runs=runs,
            guard=guard,
        )

    def expired_sources(self, listeners: Listeners) -> ExpiredSources:
        """The check that revokes skills whose source learning expired."""
        return ExpiredSources(
            units=self._resources.units, transactions=self.transactions(listeners)
        )

    def replay_duty(self, runs: TrialRuns, model: StructuredModel) -> ReplayDuty:
        """The worker duty for replays."""
        units, clock = self._resources.units, self._resources.clock
        cleaner = Cleaner(literals=self._resources.settings.secrets, pii=False)
        return ReplayDuty(
            units=units,
            clock=clock,
            replaying=ReplayStarter(units=units, clock=clock, runs=runs),
            judge=ReplayJudge(model=model, cleaner=cleaner),
            rules_of=judge_in,
        )

    def startup(self) -> None:
        """Repair the mounted files of promoted skills; a failure does not stop the daemon."""
        # A local skill may have the name of a promoted one.
        self._local.refresh()
        try:
            make_secret(self._resources.units, self._resources.clock)
            self.repair.startup()
        except UnderstudyError as problem:
            log.warning("rollout.not_repaired", code=problem.code)
