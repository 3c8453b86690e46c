"""Records the outcomes of runs that used promoted skills: canary evidence, and demotions."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

import structlog

from understudy.core.clock import DAY_MS
from understudy.core.errors import DamagedRecord
from understudy.core.principal import DAEMON
from understudy.rollout.changes import RolloutTransactions
from understudy.rollout.evidence import executions_for, sums_of_one
from understudy.rollout.model import EvidenceKind, PolicyOf, Rollout, Stage
from understudy.rollout.outcome import SkillOutcome, SkillUse, UseOutcome, outcome_of
from understudy.rollout.regression import regression_of, use_history_of
from understudy.rollout.results import SkillExecution, record_executed
from understudy.rollout.trials.runs import is_of_trial
from understudy.runs.lifecycle import TERMINAL
from understudy.runs.model import Run, RunTrace, require_run

if TYPE_CHECKING:
    from understudy.storage.unit import Unit, Units

log = structlog.get_logger()

BATCH: Final = 200
# Older uses that were never recorded no longer matter.
LOOK_BACK_MS: Final = 7 * DAY_MS


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedUse:
    """A use whose run has ended, with its outcome."""

    use: SkillUse
    outcome: SkillOutcome
    # The run that executed the skill and decided the outcome; None without one.
    run: Run | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeRecorder:
    """Records each use once: evidence in the canary stage, compared with the baseline when active."""

    units: "Units"
    transactions: RolloutTransactions
    policy_of: PolicyOf

    def ended(self, unit: "Unit", run: Run) -> None:
        """Record the uses of a run after the commit that ends it."""
        for run_id in _concerned(unit, run):
            unit.after_commit(partial(self._settle_now, run_id))

    def catch_up(self) -> int:
        """Record uses that a crash left unrecorded; answers the number of runs."""
        since = self.transactions.clock.now_ms() - LOOK_BACK_MS
        with self.units.read() as unit:
            left = unit.rollout_outcomes.unsettled(since_ms=since, limit=BATCH)
        for run_id in left:
            self._settle_now(run_id)
        return len(left)

    def _settle_now(self, run_id: str) -> None:
        try:
            with self.units.read() as unit:
                uses = unit.rollout_outcomes.used_by(run_id)
                found = [ended for use in uses if (ended := ended_use(unit, use)) is not None]
            # One unit each: notices lock journals, and rollout rows must be locked before these.
            for each in found:
                self._note(each)
        except Exception:
            # The run has ended; the next catch-up records its uses.
            log.exception("rollout.use_not_noted", run_id=run_id)

    def _note(self, ended: EndedUse) -> None:
        use, now = ended.use, self.transactions.clock.now_ms()
        with self.units.write() as unit:
            rollout = unit.rollouts.get(use.skill_name, lock=True)
            if rollout is None:
                return
            noted = UseOutcome(
                skill_name=use.skill_name,
                fingerprint=use.fingerprint,
                run_id=use.run_id,
                session_id=use.session_id,
                root_session_id=unit.sidechains.root_of(use.session_id),
                stage=rollout.status,
                outcome=ended.outcome,
                used_at_ms=use.used_at_ms,
                ended_at_ms=now,
                carrying_run_id=None if ended.run is None else ended.run.run_id,
            )
            if not unit.rollout_outcomes.add(noted):
                return
            unit.after_commit(partial(self.transactions.observer.used, noted.stage, noted.outcome))
            # In other stages a use is only counted.
            if rollout.status is Stage.CANARY and _is_about(rollout, use):
                self._take_as_evidence(unit, rollout, ended)
            elif rollout.status is Stage.ACTIVE and _is_about(rollout, use):
                self._hold_against_baseline(unit, rollout)

    def _take_as_evidence(self, unit: "Unit", rollout: Rollout, ended: EndedUse) -> None:
        """A use in the canary stage is evidence; a cancelled run is none."""
        if ended.run is None or ended.outcome is SkillOutcome.ABANDONED:
            return
        shown = SkillExecution(
            kind=EvidenceKind.CANARY,
            run=ended.run,
            success=ended.outcome is SkillOutcome.SUCCEEDED,
        )
        record_executed(self.transactions.within(unit, DAEMON.actor), rollout, shown)

    def _hold_against_baseline(self, unit: "Unit", rollout: Rollout) -> None:
        """Demote an active skill that does worse than its baseline, or hold it for review."""
        if rollout.held_reason is not None:
            return
        watch = use_history_of(unit, rollout, sums_of_one(unit, rollout))
        found = regression_of(watch)
        if found is None:
            return
        changes = self.transactions.within(unit, DAEMON.actor)
        is_taken_back = self.policy_of(unit).demote_when_worse
        act = changes.demote if is_taken_back else changes.hold_for_review
        act(rollout, found.detail, run_ids=watch.failed_run_ids)
        changes.tell()
        log.warning(
            "rollout.worse", learning_id=rollout.source_learning_id, is_demoted=is_taken_back
        )


def _is_about(rollout: Rollout, use: SkillUse) -> bool:
    """Whether a use was of the current definition in the current stage."""
    is_of_stage = use.used_at_ms >= rollout.stage_began_at_ms
    return is_of_stage and use.fingerprint == rollout.fingerprint


def ended_use(unit: "Unit", use: SkillUse) -> EndedUse | None:
    """The outcome of a use; None while its run or one of the executing sidechains is not over."""
    try:
        run = require_run(unit, use.run_id)
        carried_out = tuple(executions_for(unit, use.run_id, use.fingerprint))
    except DamagedRecord:
        # The outcome can no longer be known.
        return EndedUse(use=use, outcome=SkillOutcome.ABANDONED)
    outcome = outcome_of([it.status for it in carried_out])
    # A run that is not over may use the skill again.
    if outcome is None or run.status not in TERMINAL:
        return None
    decisive = (it for it in carried_out if outcome_of([it.status]) is outcome)
    return EndedUse(use=use, outcome=outcome, run=next(decisive, None))


def _concerned(unit: "Unit", run: Run) -> Iterator[str]:
    """The runs whose uses may have ended: this one, or one that ended before its sidechain."""
    # Runs of trials and replays are no real uses.
    if is_of_trial(run):
        return
    if RunTrace.SKILL_USE in unit.traces(run) and unit.rollout_outcomes.used_by(run.run_id):
        yield run.run_id
    # Only runs with a fingerprint execute a skill; all others need no query.
    if run.skill_fingerprint is not None:
        spawn = unit.sidechains.spawn_of(run.session_id)
        if spawn is not None:
            yield spawn.run_id
