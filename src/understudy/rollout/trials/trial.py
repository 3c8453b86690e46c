"""Trials: a definition that the daemon executes itself, and the output that is expected of it."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from understudy.core.errors import coded_error
from understudy.core.records import JsonObject
from understudy.core.text import short_digest
from understudy.learnings.guard import NO_LITERALS, SecretGuard
from understudy.rollout.model import EvidenceKind, Rollout, Stage
from understudy.skills.instructions import Params

if TYPE_CHECKING:
    from understudy.storage.unit import Unit

MAX_MARKER_CHARS: Final = 1_000
EXPECTED: Final = "/expected_output_contains"
PARAMS: Final = "/params"
# How many of those that are under way are looked at in one go.
BATCH: Final = 200
MAX_PENDING: Final = 10
# What a trial shows in each stage; the first is what it shows where nobody says.
KINDS: Final[Mapping[Stage, tuple[EvidenceKind, ...]]] = {
    Stage.DRAFT: (EvidenceKind.VERIFICATION,),
    Stage.VERIFIED: (EvidenceKind.VERIFICATION,),
    Stage.CANARY: (EvidenceKind.CANARY, EvidenceKind.VERIFICATION),
}


@dataclass(frozen=True, slots=True)
class Markers:
    """Looks at what callers want to see, before any of it is kept."""

    guard: SecretGuard = NO_LITERALS

    def check(self, marker: str, pointer: str = EXPECTED) -> str:
        """The trimmed words that an output is to contain."""
        trimmed = marker.strip()
        if not trimmed or len(marker) > MAX_MARKER_CHARS:
            raise coded_error("rollout/invalid_marker", pointer=pointer, most=MAX_MARKER_CHARS)
        why = self.guard.reason(trimmed, strictly=True)
        if why is not None:
            raise coded_error("rollout/secret_marker", pointer=pointer, why=why)
        return trimmed

    def check_params(self, params: Params) -> None:
        """Refuse what a skill is to work on if it looks like a secret."""
        for text in _read_in(params):
            why = self.guard.reason(text, strictly=True)
            if why is not None:
                raise coded_error("rollout/secret_params", pointer=PARAMS, why=why)


def require_not_given(marker: str | None, params: Params, pointer: str = EXPECTED) -> None:
    """Refuse words that the run is given: an output that repeats them shows nothing.

    What parameters are called is no answer to anything, so only their values are looked at.
    """
    if marker and any(marker in text for text in _given_by(params)):
        raise coded_error("rollout/invalid_marker:in_input", pointer=pointer)


def _given_by(params: Params) -> Iterator[str]:
    """All values of parameters, as they were written and as they are passed on."""
    for value in _values(params):
        if isinstance(value, str):
            yield value
        yield json.dumps(value, ensure_ascii=False)


def _read_in(params: Params) -> tuple[str, ...]:
    """Everything that a run reads in its parameters, as it was written and as it is passed on."""
    if params is None:
        return ()
    if isinstance(params, str):
        return (params,)
    names = [name for each in _parts(params) if isinstance(each, dict) for name in each]
    texts = [each for each in _values(params) if isinstance(each, str)]
    return (json.dumps(params, ensure_ascii=False), *names, *texts)


def _values(given: object) -> Iterator[object]:
    return (each for each in _parts(given) if not isinstance(each, dict | list | tuple))


def _parts(given: object) -> Iterator[object]:
    """A value with all that lies in it; without recursion, as callers choose how deep it is."""
    left = [given]
    while left:
        part = left.pop()
        yield part
        if isinstance(part, dict):
            left += part.values()
        elif isinstance(part, list | tuple):
            left += part


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
        row = "rollout/rollout_not_on_trial" + (":live" if rollout.is_live else "")
        raise coded_error(row, skill_name=rollout.skill_name, status=rollout.status)
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
