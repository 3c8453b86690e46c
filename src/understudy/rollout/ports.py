"""What rollouts need from outside: their stores, the policy, and who keeps the files."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol, cast

from understudy.core.page import Page, PageRequest
from understudy.learnings.ports import LearningUnit
from understudy.rollout.canary_secret import CanarySecretStore
from understudy.rollout.counting import Sums
from understudy.rollout.model import Definition, Evidence, LifecycleEvent, Rollout, Snapshot
from understudy.rollout.outcome import OutcomeStore
from understudy.rollout.replay.case import ReplayCaseStore
from understudy.rollout.source_ends import SourceStore
from understudy.rollout.stages import Stage
from understudy.rollout.trials.trial import TrialStore
from understudy.sessions.ports import SessionUnit, Units
from understudy.skills.ports import SkillUnit


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutFilter:
    """Which rollouts a list is about; what is left out narrows nothing."""

    source_learning_id: str | None = None
    status: Stage | None = None


EVERYTHING: Final = RolloutFilter()


class Mark(NamedTuple):
    """What tells whether a rollout is offered as it was; what only speaks for it is not part of it."""

    skill_name: str
    source_learning_id: str
    status: str
    fingerprint: str
    attempt: int
    is_flagged: bool


class RolloutStore(Protocol):
    """Rollouts by the name of their skill, with what happened to them and what speaks for them."""

    def get(self, skill_name: str, *, lock: bool = False) -> Rollout | None:
        """One rollout; `lock` holds its row until the unit ends."""
        ...

    def add(self, rollout: Rollout) -> bool:
        """Keep a new rollout; False when the name is taken, or its learning has a live one."""
        ...

    def update(self, rollout: Rollout, *, expected_revision: int) -> None:
        """Replace a rollout; raises `StaleVersion` when it changed meanwhile."""
        ...

    def page(self, request: PageRequest, *, narrowed: RolloutFilter) -> Page[Rollout]:
        """Rollouts by name."""
        ...

    def live_of(self, learning_id: str) -> Rollout | None:
        """The live rollout that a learning was promoted to."""
        ...

    def live_name_of(self, learning_id: str) -> str | None:
        """What the live rollout of a learning is called, be its record damaged or not."""
        ...

    def remnant(self, skill_name: str) -> Rollout | None:
        """What is left of a rollout that cannot be read: all but its body, with what it said if
        that was kept elsewhere; raises `DamagedRecord` when there is less."""
        ...

    def live_called(self, name: str) -> str | None:
        """The name of the live rollout that this can be taken for, however it is written."""
        ...

    def several(self, skill_names: Collection[str]) -> tuple[Rollout, ...]:
        """Those of some names that there are; one that cannot be read is left out."""
        ...

    def stamp(self, stages: Collection[Stage]) -> Mapping[str, Mark]:
        """The marks of all rollouts of some stages by name; much quicker than these."""
        ...

    def add_event(self, event: LifecycleEvent) -> None: ...

    def events(self, skill_name: str, request: PageRequest) -> Page[LifecycleEvent]:
        """What happened, oldest first."""
        ...

    def recent_events(
        self, skill_names: Collection[str], *, limit: int
    ) -> Mapping[str, tuple[LifecycleEvent, ...]]:
        """The newest of each of some rollouts by name, still oldest first."""
        ...

    def add_evidence(self, evidence: Evidence) -> bool:
        """Keep what a run showed; False when the run speaks in this attempt already."""
        ...

    def newest_evidence(
        self, rollouts: Sequence[Rollout], *, limit: int
    ) -> Mapping[str, tuple[Evidence, ...]]:
        """What speaks for or against the current attempts, by name and oldest first: so many of
        each kind at most, the newest. What cannot be read is left out."""
        ...

    def verifiers_of(
        self, rollouts: Sequence[Rollout], *, limit: int
    ) -> Mapping[str, tuple[str, ...]]:
        """The newest runs that verified the current definitions, by name and oldest first."""
        ...

    def sums_of(self, rollouts: Sequence[Rollout]) -> Mapping[str, Sums]:
        """What all evidence for the current definitions in the current attempts amounts to, by
        name; counted where it is kept."""
        ...

    def evidence_of_run(self, skill_name: str, attempt: int, run_id: str) -> Evidence | None:
        """What a run showed in an attempt."""
        ...

    def add_snapshot(self, snapshot: Snapshot) -> None: ...

    def snapshot(self, skill_name: str, number: int) -> Snapshot | None: ...

    def snapshots(self, skill_name: str, request: PageRequest) -> Page[Snapshot]:
        """How it was before, newest first; one that cannot be read is left out."""
        ...

    def last_other(self, skill_name: str, number: int, fingerprint: str) -> Snapshot | None:
        """The newest before a number that has another definition."""
        ...

    def active_snapshots(self, skill_name: str, *, limit: int) -> tuple[Snapshot, ...]:
        """Those that show it in force, newest first: of each attempt at it the last."""
        ...

    def demoted(self, skill_name: str) -> frozenset[str]:
        """The fingerprints that were ever taken back because they did worse than their baseline."""
        ...

    def counts(self) -> dict[Stage, int]:
        """How many there are in each stage."""
        ...

    def watched_since_ms(self, skill_name: str, *, before_ms: int) -> int:
        """When somebody last promoted it, rolled it back or let it go on, before then; 0 when
        nobody did."""
        ...

    def flagged(self, *, limit: int) -> tuple[Rollout, ...]:
        """Those that are held or were demoted, the one that changed last first."""
        ...


class RolloutUnit(LearningUnit, SkillUnit, Protocol):
    """One transaction over everything rollouts touch."""

    @property
    def rollouts(self) -> RolloutStore: ...

    @property
    def rollout_trials(self) -> TrialStore: ...

    @property
    def replay_cases(self) -> ReplayCaseStore: ...

    @property
    def rollout_outcomes(self) -> OutcomeStore: ...

    @property
    def rollout_sources(self) -> SourceStore: ...

    @property
    def canary_secret(self) -> CanarySecretStore: ...


RolloutUnits = Units[RolloutUnit]


def as_rollout_unit(unit: SessionUnit) -> RolloutUnit:
    """The same transaction, with the stores of rollouts.

    Every unit of the daemon holds the stores of everything; those who call us from beneath just
    do not know of these.
    """
    return cast("RolloutUnit", unit)


class Rules(Protocol):
    """What the operator's policy asks of a rollout; `PromotionSettings` is one."""

    @property
    def require_executed_evidence(self) -> bool: ...

    @property
    def min_successes(self) -> int: ...

    @property
    def min_sessions(self) -> int: ...

    @property
    def require_replay(self) -> bool: ...

    @property
    def canary_share_percent(self) -> int: ...

    @property
    def demote_when_worse(self) -> bool: ...


# Whether something in the catalogue has a name already; reads rows and no folders.
IsTaken = Callable[[RolloutUnit, str], bool]
PolicyOf = Callable[[RolloutUnit], Rules]


class Mounts(Protocol):
    """Somebody who keeps the files of active skills as the records say."""

    def check(self, definition: Definition) -> None:
        """Refuse a definition whose files could not be kept; never while a unit is open."""
        ...

    def digest(self, definition: Definition) -> str:
        """The digest that the files of a definition have."""
        ...

    def after(self, unit: RolloutUnit, rollout: Rollout) -> None:
        """A record changed in this unit: have its files follow once that stands.

        By then somebody else may have changed it again and been quicker, so look at the record
        anew, or at its revision.
        """
        ...


class NoMounts:
    """Keeps no files."""

    def check(self, definition: Definition) -> None:
        """What is written nowhere is fine."""

    def digest(self, definition: Definition) -> str:
        """There are no files; what they would say is told apart all the same."""
        return definition.fingerprint

    def after(self, unit: RolloutUnit, rollout: Rollout) -> None:
        """Nothing follows."""
