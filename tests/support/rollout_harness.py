"""Rollouts as a daemon puts them together, for tests of promoting, evidence and taking back."""

import threading
from dataclasses import dataclass, field, replace
from typing import Any

from tests.support.factories import ALICE, NOW, make_run
from understudy.core.audit import AuditEntry
from understudy.core.page import PageRequest
from understudy.core.principal import DAEMON
from understudy.learnings.events import Listeners
from understudy.learnings.model import Kind, Learning, LearningSource, LearningStatus, Tier
from understudy.learnings.service import LearningService
from understudy.review.policy import PromotionSettings
from understudy.rollout.changes import RolloutCounters, RolloutTransactions
from understudy.rollout.definition import Promotion
from understudy.rollout.model import Definition, EvidenceKind, Rollout, Stage, require_rollout
from understudy.rollout.mounts import MountSync
from understudy.rollout.results import Result
from understudy.rollout.service import RolloutDetail, RolloutService
from understudy.rollout.source_learnings import LinkedRollouts
from understudy.runs.model import Run, RunStatus
from understudy.sessions.journal import EventKind, JournalEvent, NewEvent
from understudy.sessions.learning_scopes import WORKSPACE
from understudy.storage.unit import Unit, Units
from understudy.testing.clock import FrozenClock

NAME = "learning:sched"
MARKER = "SCHED_OK"
ASKED = Promotion(skill_name=NAME, instructions=f"Reply with exactly {MARKER}.", version="1")


def make_procedure(learning_id: str = "lrn_1", **fields: Any) -> Learning:
    """An active procedure of the workspace, learned in the session s1."""
    values: dict[str, Any] = {
        "scope": WORKSPACE,
        "kind": Kind.PROCEDURE,
        "content": f"Check scheduler as {learning_id} says",
        "semantic_key": f"check scheduler {learning_id}",
        "subject_key": None,
        "created_at_ms": NOW,
        "published_at_ms": NOW,
        "status": LearningStatus.ACTIVE,
        "publish_tier": Tier.ACTIVE,
        "source": LearningSource(run_id="run_0", session_id="s1"),
    }
    return Learning(learning_id=learning_id, **(values | fields))


class Mounted(MountSync):
    """Stands where files are kept, and notes what it was told once a change stands."""

    # A frozen dataclass with slots lets no subclass have attributes of its own.
    __setattr__ = object.__setattr__

    def __init__(self) -> None:
        # Of each skill, whether it would have files now.
        self.files: dict[str, str] = {}
        # Of each skill, the newest change that it heard of: news may come out of their order.
        self._heard: dict[str, int] = {}
        self._lock = threading.Lock()

    def check(self, definition: Definition) -> None:
        """Everything can be kept."""

    def digest(self, definition: Definition) -> str:
        """As good as any other."""
        return f"digest of {definition.fingerprint}"

    def after(self, unit: Unit, rollout: Rollout) -> None:
        """Have the files follow once the unit has committed."""
        unit.after_commit(lambda: self._note(rollout))

    def _note(self, rollout: Rollout) -> None:
        name = rollout.skill_name
        with self._lock:
            if rollout.revision < self._heard.get(name, 0):
                return
            self._heard[name] = rollout.revision
            if rollout.status is Stage.ACTIVE:
                self.files[name] = rollout.definition.instructions
            else:
                self.files.pop(name, None)


@dataclass
class RolloutHarness:
    """Rollouts on the database of a test, with the learnings beneath them."""

    units: Units
    clock: FrozenClock = field(default_factory=lambda: FrozenClock(NOW))
    mounted: Mounted = field(default_factory=Mounted)
    # Who keeps files instead, where a test is about these.
    mounts: MountSync | None = None
    counters: RolloutCounters = field(default_factory=RolloutCounters)
    policy: PromotionSettings = field(default_factory=PromotionSettings)
    # Names that skills of other kinds have.
    taken: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.transactions = RolloutTransactions(
            clock=self.clock, mounts=self.mounts or self.mounted, observer=self.counters
        )
        linked = LinkedRollouts(transactions=self.transactions)
        self.learnings = LearningService(self.units, self.clock, Listeners(linked=(linked,)))
        self.rollouts = RolloutService(
            units=self.units,
            transactions=self.transactions,
            policy_of=lambda _unit: self.policy,
            is_taken=lambda _unit, name: name in self.taken,
        )

    def learn(self, learning_id: str = "lrn_1", **fields: Any) -> Learning:
        """A learning that is there; an active procedure unless told otherwise."""
        learning = make_procedure(learning_id, **fields)
        with self.units.write() as unit:
            unit.learnings.add(learning)
        return learning

    def run(self, output: str = MARKER, *, session_id: str = "s1", **fields: Any) -> Run:
        """A run that has put something out, completed unless told otherwise."""
        values: dict[str, Any] = {
            "status": RunStatus.COMPLETED,
            "submitted_at_ms": self.clock.now_ms(),
        }
        run = make_run(session_id, **(values | fields))
        said = NewEvent(kind=EventKind.OUTPUT, run_id=run.run_id, data={"text": output})
        with self.units.write() as unit:
            unit.runs.add(run)
            unit.journal.append(session_id, [said], at_ms=NOW)
        return run

    def promote(self, learning_id: str = "lrn_1", **fields: Any) -> RolloutDetail:
        """What Alice asks for, with some of it otherwise."""
        self.clock.advance(1)
        return self.rollouts.promote(ALICE, learning_id, replace(ASKED, **fields))

    def show(self, kind: str, run: Run | str, **fields: Any) -> RolloutDetail:
        """Alice says that a run shows something."""
        self.clock.advance(1)
        values: dict[str, Any] = {
            "kind": EvidenceKind(kind),
            "run_id": run if isinstance(run, str) else run.run_id,
            "expected_output_contains": MARKER,
        }
        name = fields.pop("skill_name", NAME)
        return self.rollouts.record_result(ALICE, name, Result(**(values | fields)))

    def bring_to(self, stage: Stage, learning_id: str = "lrn_1", **fields: Any) -> RolloutDetail:
        """A rollout that went the whole way up to a stage, each step with a run of its own."""
        detail = self.promote(learning_id, **fields)
        name = detail.record.skill_name
        if stage is Stage.DRAFT:
            return detail
        self.show("verification", self.run(), skill_name=name)
        detail = self.promote(learning_id, status=Stage.VERIFIED, **fields)
        if stage is Stage.VERIFIED:
            return detail
        detail = self.promote(learning_id, status=Stage.CANARY, **fields)
        if stage is Stage.CANARY:
            return detail
        self.show("canary", self.run(), skill_name=name)
        return self.promote(learning_id, status=Stage.ACTIVE, **fields)

    def demote(self, reason: str, skill_name: str = NAME) -> RolloutDetail:
        """The daemon takes an active skill back, as it does with one that fares worse."""
        with self.units.write() as unit:
            changes = self.transactions.within(unit, DAEMON.actor)
            changes.demote(require_rollout(unit, skill_name, lock=True), reason)
            changes.tell()
        return self.get(skill_name)

    def get(self, skill_name: str = NAME) -> RolloutDetail:
        """The rollout as it stands."""
        return self.rollouts.get(skill_name)

    def happened(self, skill_name: str = NAME) -> list[str]:
        """What happened to a rollout, in order."""
        return [str(it.event) for it in self.get(skill_name).events]

    def told(self, session_id: str = "s1") -> list[JournalEvent]:
        """What a session was told."""
        with self.units.read() as unit:
            return list(unit.journal.read(session_id=session_id, kinds=(EventKind.LEARNING,)))

    def audit(self) -> list[AuditEntry]:
        """What was written down, oldest first."""
        with self.units.read() as unit:
            found = unit.audit.page(PageRequest(limit=200), resource="rollouts", actor=None)
        return list(reversed(found.items))
