"""Runs that use a promoted skill and end, and who draws what follows from that."""

from dataclasses import dataclass, field, replace
from typing import Any

from tests.support.factories import NOW, make_run, make_session
from tests.support.rollout_harness import NAME, RolloutHarness
from understudy.core.ids import new_id
from understudy.core.page import PageRequest
from understudy.learnings.events import Listeners
from understudy.learnings.model import Candidate, CandidateFilter
from understudy.rollout.model import Rollout, Stage, require_rollout
from understudy.rollout.outcome import OutcomeCounts
from understudy.rollout.outcome_recorder import OutcomeRecorder
from understudy.runs.lifecycle import TERMINAL
from understudy.runs.model import Run, RunStatus, require_run
from understudy.sessions.model import Spawn
from understudy.skills.usage import RecordedUse
from understudy.storage.unit import Unit, Units


@dataclass
class WatchedRollouts:
    """Rollouts whose skills are used; time goes on by a second with every use."""

    units: Units
    rung: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.hand = RolloutHarness(self.units)
        listeners = Listeners(review=lambda: self.rung.append("review"))
        self.outcomes = OutcomeRecorder(
            units=self.units,
            transactions=replace(self.hand.transactions, listeners=listeners),
            policy_of=lambda _unit: self.hand.policy,
        )
        self.hand.learn()

    def begin(self, **fields: Any) -> Run:
        """A run that has used the skill as it is now, and goes on."""
        self.hand.clock.advance(1_000)
        values: dict[str, Any] = {"status": RunStatus.RUNNING, "started_at_ms": NOW}
        run = make_run(**(values | fields))
        with self.units.write() as unit:
            unit.runs.add(run)
            unit.skill_uses.add(self._use(run, require_rollout(unit, NAME)))
        return run

    def _use(self, run: Run, rollout: Rollout) -> RecordedUse:
        return RecordedUse(
            use_id=new_id("use"),
            skill_id=None,
            slug=rollout.skill_name,
            version=None,
            digest=rollout.digest,
            agent_id=run.agent_id,
            user_id=run.user_id,
            session_id=run.session_id,
            run_id=run.run_id,
            at_ms=self.hand.clock.now_ms(),
            fingerprint=rollout.fingerprint,
        )

    def carry_out(self, run: Run, status: RunStatus = RunStatus.RUNNING) -> Run:
        """The run of a sidechain that carries the skill out for a run."""
        child = make_session(new_id("ses"), parent_session_id=run.session_id)
        carrying = make_run(
            child.session_id,
            status=status,
            finished_at_ms=NOW if status in TERMINAL else None,
            skill_fingerprint=self.hand.get().record.fingerprint,
        )
        spawn = Spawn(
            session_id=child.session_id,
            run_id=run.run_id,
            first_run_id=carrying.run_id,
            created_at_ms=NOW,
        )
        with self.units.write() as unit:
            unit.sessions.add(child)
            unit.runs.add(carrying)
            unit.sidechains.add(spawn)
        return carrying

    def stop(self, run: Run, status: RunStatus) -> Run:
        """Have a run end, with nobody who hears of it."""
        with self.units.write() as unit:
            return self._stop(unit, run, status)

    def end(self, run: Run, status: RunStatus = RunStatus.COMPLETED) -> Run:
        """Have a run end, as a daemon does."""
        with self.units.write() as unit:
            ended = self._stop(unit, run, status)
            self.outcomes.ended(unit, ended)
        return ended

    def _stop(self, unit: Unit, run: Run, status: RunStatus) -> Run:
        ended = replace(run, status=status, finished_at_ms=self.hand.clock.now_ms())
        unit.runs.update(ended)
        return ended

    def use(self, *statuses: RunStatus, **fields: Any) -> list[Run]:
        """Runs that have the skill carried out, which ends like this, one after the other."""
        return [self._use_once(status, **fields) for status in statuses]

    def _use_once(self, status: RunStatus, **fields: Any) -> Run:
        run = self.begin(**fields)
        self.carry_out(run, status)
        return self.end(run)

    def use_in(self, session_id: str, *statuses: RunStatus) -> list[Run]:
        """The same in another session, which is opened for it."""
        with self.units.write() as unit:
            unit.sessions.add(make_session(session_id))
        return self.use(*statuses, session_id=session_id)

    def carried_out_for(self, run: Run) -> Run:
        """The run of the sidechain that carried the skill out for a run."""
        with self.units.read() as unit:
            [child] = unit.sidechains.spawned_by(run.run_id)
            spawn = unit.sidechains.spawn_of(child)
            assert spawn is not None
            return require_run(unit, spawn.first_run_id)

    def counts(self, stage: Stage, fingerprint: str | None = None) -> OutcomeCounts:
        """What became of the runs that used a definition in a stage; of the current one."""
        about = fingerprint or self.hand.get().record.fingerprint
        with self.units.read() as unit:
            return unit.rollout_outcomes.counts(NAME, about).get(stage, OutcomeCounts())

    def items(self) -> list[Candidate]:
        """What people are asked to look at."""
        with self.units.read() as unit:
            page = unit.candidates.page(
                PageRequest(limit=200), narrowed=CandidateFilter(), now_ms=NOW
            )
        return list(page.items)
