"""A trial: exactly one definition, executed by the daemon itself, and what came of it."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from understudy.core.errors import coded_error
from understudy.core.records import JsonObject
from understudy.core.text import short_digest
from understudy.rollout import refusals as trial_refusals
from understudy.rollout.markers import EXPECTED, Markers
from understudy.rollout.model import EvidenceKind, Rollout
from understudy.rollout.stages import Stage
from understudy.skills.instructions import Params

if TYPE_CHECKING:
    from understudy.storage.unit import Unit


# How many of those that are under way are looked at in one go.
BATCH: Final = 200


class TrialState(StrEnum):
    """Whether a trial is over, and how it ended."""

    PENDING = "pending"
    PASSED = "passed"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One execution of a definition, in a session of its own."""

    trial_id: str
    skill_name: str
    attempt: int
    fingerprint: str
    kind: EvidenceKind
    # What the output of the run has to contain; "" where anything will do.
    marker: str
    actor: str
    created_at_ms: int
    state: TrialState = TrialState.PENDING
    # What executes it; None before it was started.
    run_id: str | None = None
    session_id: str | None = None
    # Recorded runs that are run again, each as JSON; none for a plain trial.
    cases: tuple[JsonObject, ...] = ()
    report: JsonObject | None = None
    # Why it failed, or counts for nothing, in one line.
    reason: str | None = None
    ended_at_ms: int | None = None
    # The commit that the workspace stood at when it began; None where it has none.
    workspace_digest: str | None = None

    @property
    def tried(self) -> tuple[int, str]:
        """The attempt and the definition that it is about."""
        return self.attempt, self.fingerprint

    def is_about(self, rollout: Rollout | None) -> bool:
        """Whether a rollout is still what is tried."""
        return rollout is not None and rollout.is_live and rollout.tried == self.tried


MAX_PENDING: Final = 10
# What a trial shows in each stage; the first is what it shows where nobody says.
KINDS: Final[Mapping[Stage, tuple[EvidenceKind, ...]]] = {
    Stage.DRAFT: (EvidenceKind.VERIFICATION,),
    Stage.VERIFIED: (EvidenceKind.VERIFICATION,),
    Stage.CANARY: (EvidenceKind.CANARY, EvidenceKind.VERIFICATION),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseWish:
    """A recorded run whose input is to run again."""

    run_id: str
    # What the output has to contain; without it, what all cases have to contain, if anything.
    marker: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialWish:
    """What is to be tried, and what it has to show."""

    # What the output has to contain; never told to the one who executes the skill. Without it,
    # what the trial before had to contain; if there was none, anything will do.
    marker: str | None = None
    kind: EvidenceKind | None = None
    params: Params = None
    definition_fingerprint: str | None = None
    # With some, it is a replay.
    cases: tuple[CaseWish, ...] = ()


def checked(wish: TrialWish, markers: Markers) -> TrialWish:
    """The same with trimmed markers; `Invalid` where one says nothing, or tells a secret."""
    cases = tuple(
        replace(case, marker=_marker(markers, case.marker, f"/cases/{index}/marker"))
        for index, case in enumerate(wish.cases)
    )
    return replace(wish, marker=_marker(markers, wish.marker, EXPECTED), cases=cases)


def check_on_trial(rollout: Rollout, wish: TrialWish) -> None:
    """Refuse what is in force or taken back, and another definition than the one that is meant."""
    if rollout.status not in KINDS:
        raise trial_refusals.trial_refused_error(rollout)
    if wish.definition_fingerprint not in (None, rollout.fingerprint):
        raise coded_error(
            "rollout/fingerprint_mismatch",
            pointer="/definition_fingerprint",
            skill_name=rollout.skill_name,
            fingerprint=short_digest(rollout.fingerprint),
        )


def kind_of(rollout: Rollout, wish: TrialWish) -> EvidenceKind:
    """What a trial is to show."""
    kinds = KINDS[rollout.status]
    kind = wish.kind or kinds[0]
    if kind not in kinds:
        raise coded_error(
            "rollout/wrong_trial_kind",
            pointer="/kind",
            skill_name=rollout.skill_name,
            status=rollout.status,
            kind=kind,
        )
    return kind


def lock_unchanged(unit: "Unit", seen: Rollout) -> Rollout:
    """The rollout, held until the unit ends; a `Conflict` when it is no longer what was seen."""
    rollout = unit.rollouts.get(seen.skill_name, lock=True)
    # Evidence may come in meanwhile.
    if rollout is None or (rollout.status, rollout.tried) != (seen.status, seen.tried):
        raise coded_error("rollout/rollout_changed_meanwhile", skill_name=seen.skill_name)
    return rollout


def check_room(unit: "Unit", rollout: Rollout) -> None:
    """Refuse more trials of a definition than may go on at once."""
    under_way = unit.rollout_trials.count_pending(rollout.skill_name, *rollout.tried)
    if under_way >= MAX_PENDING:
        raise coded_error(
            "rollout/too_many_trials", most=MAX_PENDING, skill_name=rollout.skill_name
        )


def _marker(markers: Markers, marker: str | None, pointer: str) -> str | None:
    return None if marker is None else markers.check(marker, pointer)
