"""Trials: executions of a definition by the daemon, and their expected output."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from understudy.core.errors import coded_error
from understudy.core.records import JsonObject
from understudy.learnings.guard import NO_LITERALS, SecretGuard
from understudy.rollout.model import EvidenceKind, Rollout, Stage, require_fingerprint
from understudy.skills.instructions import Params

if TYPE_CHECKING:
    from understudy.storage.unit import Unit

MAX_MARKER_CHARS: Final = 1_000
EXPECTED: Final = "/expected_output_contains"
PARAMS: Final = "/params"
# How many pending trials one catch-up reads.
BATCH: Final = 200
MAX_PENDING: Final = 10
# The kinds of evidence that a trial can give in each stage; the first is the default.
KINDS: Final[Mapping[Stage, tuple[EvidenceKind, ...]]] = {
    Stage.DRAFT: (EvidenceKind.VERIFICATION,),
    Stage.VERIFIED: (EvidenceKind.VERIFICATION,),
    Stage.CANARY: (EvidenceKind.CANARY, EvidenceKind.VERIFICATION),
}


@dataclass(frozen=True, slots=True)
class Markers:
    """Checks markers and parameters before they are stored."""

    guard: SecretGuard = NO_LITERALS

    def check(self, marker: str, pointer: str = EXPECTED) -> str:
        """The trimmed marker; refused if it is blank, too long or looks like a secret."""
        trimmed = marker.strip()
        if not trimmed or len(marker) > MAX_MARKER_CHARS:
            raise coded_error("rollout/invalid_marker", pointer=pointer, most=MAX_MARKER_CHARS)
        why = self.guard.reason(trimmed, strictly=True)
        if why is not None:
            raise coded_error("rollout/secret_marker", pointer=pointer, why=why)
        return trimmed

    def check_params(self, params: Params) -> None:
        """Refuse parameters of a skill that look like a secret."""
        for text in _read_in(params):
            why = self.guard.reason(text, strictly=True)
            if why is not None:
                raise coded_error("rollout/secret_params", pointer=PARAMS, why=why)


def require_not_given(marker: str | None, params: Params, pointer: str = EXPECTED) -> None:
    """Refuse a marker that is in the parameters: an output that repeats it proves nothing.

    Only values of parameters are compared, not their names.
    """
    if marker and any(marker in text for text in _given_by(params)):
        raise coded_error("rollout/invalid_marker:in_input", pointer=pointer)


def _given_by(params: Params) -> Iterator[str]:
    """All values of parameters, as text and as JSON."""
    for value in _values(params):
        if isinstance(value, str):
            yield value
        yield json.dumps(value, ensure_ascii=False)


def _read_in(params: Params) -> tuple[str, ...]:
    """All texts in parameters that a run reads: JSON, names and values."""
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
    """A value and everything nested in it; iterative, as callers choose the depth."""
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
    # The marker that the output has to contain; "" where any output passes.
    marker: str
    actor: str
    created_at_ms: int
    state: TrialState = TrialState.PENDING
    # The run that executes it; None before it is started.
    run_id: str | None = None
    session_id: str | None = None
    # The recorded runs of a replay, each as JSON; empty for a plain trial.
    cases: tuple[JsonObject, ...] = ()
    report: JsonObject | None = None
    # Why it failed or is no evidence, in one line.
    reason: str | None = None
    ended_at_ms: int | None = None
    # The HEAD commit of the workspace at the start; None without a repository.
    workspace_digest: str | None = None

    @property
    def tried(self) -> tuple[int, str]:
        """The attempt and the fingerprint that it is about."""
        return self.attempt, self.fingerprint

    def is_about(self, rollout: Rollout | None) -> bool:
        """Whether a rollout still has the definition and attempt of the trial."""
        return rollout is not None and rollout.is_live and rollout.tried == self.tried


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseRequest:
    """A recorded run whose input is to run again."""

    run_id: str
    # The marker that the output has to contain; None: that of the request, if any.
    marker: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialRequest:
    """A request for a trial, or with cases for a replay."""

    # The marker that the output has to contain; never shown to the executing run. None: the marker
    # of the trial before; without one, any output passes.
    marker: str | None = None
    kind: EvidenceKind | None = None
    params: Params = None
    definition_fingerprint: str | None = None
    # A request with cases is a replay.
    cases: tuple[CaseRequest, ...] = ()


def checked(request: TrialRequest, markers: Markers) -> TrialRequest:
    """The request with checked markers."""
    cases = tuple(
        replace(case, marker=_marker(markers, case.marker, f"/cases/{index}/marker"))
        for index, case in enumerate(request.cases)
    )
    return replace(request, marker=_marker(markers, request.marker, EXPECTED), cases=cases)


def check_on_trial(rollout: Rollout, request: TrialRequest) -> None:
    """Refuse rollouts that are active or revoked, and another fingerprint than the expected one."""
    if rollout.status not in KINDS:
        row = "rollout/rollout_not_on_trial" + (":live" if rollout.is_live else "")
        raise coded_error(row, skill_name=rollout.skill_name, status=rollout.status)
    require_fingerprint(rollout, request.definition_fingerprint)


def kind_of(rollout: Rollout, request: TrialRequest) -> EvidenceKind:
    """The kind of evidence of a trial."""
    kinds = KINDS[rollout.status]
    kind = request.kind or kinds[0]
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
    """The rollout, locked; a `Conflict` when it changed since it was read."""
    rollout = unit.rollouts.get(seen.skill_name, lock=True)
    # New evidence is no change.
    if rollout is None or (rollout.status, rollout.tried) != (seen.status, seen.tried):
        raise coded_error("rollout/rollout_changed_meanwhile", skill_name=seen.skill_name)
    return rollout


def check_room(unit: "Unit", rollout: Rollout) -> None:
    """Refuse more pending trials of a definition than the limit."""
    under_way = unit.rollout_trials.count_pending(rollout.skill_name, *rollout.tried)
    if under_way >= MAX_PENDING:
        raise coded_error(
            "rollout/too_many_trials", most=MAX_PENDING, skill_name=rollout.skill_name
        )


def _marker(markers: Markers, marker: str | None, pointer: str) -> str | None:
    return None if marker is None else markers.check(marker, pointer)
