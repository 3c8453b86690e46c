"""Guards of each step of a rollout: a table of named rules that return reasons."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from understudy.core.text import short_digest
from understudy.rollout.evidence import Counts
from understudy.rollout.model import Rollout, Stage
from understudy.rollout.replay.report import NO_REPLAYS, ReplayStanding

if TYPE_CHECKING:
    from understudy.review.policy import PromotionSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardReason:
    """Why a step is refused."""

    code: str
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutCase:
    """A rollout with its evidence, as the guards see it."""

    rollout: Rollout
    counts: Counts
    rules: "PromotionSettings"
    # The replays of this definition.
    replays: ReplayStanding = NO_REPLAYS

    @property
    def definition(self) -> str:
        """The definition by its short fingerprint."""
        return f"fingerprint {short_digest(self.rollout.fingerprint)}"


Guard = Callable[[RolloutCase], GuardReason | None]


def is_verified(case: RolloutCase) -> GuardReason | None:
    """Enough runs verified the definition, in enough sessions."""
    rules, counts = case.rules, case.counts
    sessions = max(rules.min_sessions, 1)
    runs = max(rules.min_successes, sessions)
    if counts.successful_run_count >= runs and counts.distinct_session_count >= sessions:
        return None
    wanted = _many(runs, "accepted verification")
    spread = f" in {sessions} sessions" if sessions > 1 else ""
    return GuardReason(
        code="needs_verification",
        detail=f"needs {wanted}{spread} for {case.definition}; there are"
        f" {counts.successful_run_count}"
        + (f" in {counts.distinct_session_count}" if spread else ""),
    )


def has_canary(case: RolloutCase) -> GuardReason | None:
    """A canary run succeeded."""
    if case.counts.canary_success_count:
        return None
    return GuardReason(
        code="needs_canary", detail=f"needs one successful canary for {case.definition}"
    )


def has_no_failure(case: RolloutCase) -> GuardReason | None:
    """No canary run failed."""
    failures = case.counts.canary_failure_count
    if not failures:
        return None
    return GuardReason(
        code="canary_failed",
        detail=f"{_many(failures, 'canary run')} failed for {case.definition};"
        " take it back to draft and mend it",
    )


def is_replayed(case: RolloutCase) -> GuardReason | None:
    """Where the policy requires a replay, one passed without a regression."""
    if not case.rules.require_replay:
        return None
    worse = ", ".join(case.replays.regressions)
    if worse:
        words = (
            f"run {worse} went worse in a replay for {case.definition}; mend it, or replay that"
            " with success, judged by the same marker or the judge as then"
        )
    elif not case.replays.is_vouched_for:
        words = (
            f"the policy asks for a replay without a regression for {case.definition}, with each"
            " case judged by a marker or the judge"
        )
    else:
        return None
    return GuardReason(code="needs_replay", detail=words)


def is_free(case: RolloutCase) -> GuardReason | None:
    """The rollout is not held."""
    if case.rollout.held_reason is None:
        return None
    return GuardReason(code="rollout_held", detail="it is held; release it first")


_TO_ACTIVE: Final[tuple[Guard, ...]] = (
    is_verified,
    has_canary,
    has_no_failure,
    is_replayed,
    is_free,
)
# Every step of promoting with its guards; other pairs of stages are refused.
GUARDS: Final[Mapping[tuple[Stage, Stage], tuple[Guard, ...]]] = {
    (Stage.DRAFT, Stage.DRAFT): (),
    (Stage.DRAFT, Stage.VERIFIED): (is_verified, is_free),
    (Stage.VERIFIED, Stage.DRAFT): (),
    # Also with another definition, which has no evidence then.
    (Stage.VERIFIED, Stage.VERIFIED): (is_verified,),
    (Stage.VERIFIED, Stage.CANARY): (is_verified, is_free),
    (Stage.VERIFIED, Stage.ACTIVE): _TO_ACTIVE,
    (Stage.CANARY, Stage.DRAFT): (),
    (Stage.CANARY, Stage.CANARY): (is_verified,),
    (Stage.CANARY, Stage.ACTIVE): _TO_ACTIVE,
    (Stage.ACTIVE, Stage.ACTIVE): (),
    (Stage.REVOKED, Stage.DRAFT): (),
}


def missing(current: Stage, target: Stage, case: RolloutCase) -> tuple[GuardReason, ...]:
    """The reasons that keep a rollout from a step of promoting."""
    return tuple(filter(None, (guard(case) for guard in GUARDS[current, target])))


def _many(number: int, what: str) -> str:
    return f"one {what}" if number == 1 else f"{number} {what}s"


class RolloutAction(StrEnum):
    """The actions of a caller on a rollout, by the name of the operation."""

    PROMOTE = "promote"
    RESULT = "result"
    TRIAL = "trial"
    HOLD = "hold"
    RELEASE = "release"
    REVOKE = "revoke"
    ROLLBACK = "rollback"


_UNDER_WAY: Final = (
    RolloutAction.PROMOTE,
    RolloutAction.RESULT,
    RolloutAction.TRIAL,
    RolloutAction.HOLD,
    RolloutAction.REVOKE,
)
ACTIONS: Final[Mapping[Stage, tuple[RolloutAction, ...]]] = {
    Stage.DRAFT: _UNDER_WAY,
    Stage.VERIFIED: _UNDER_WAY,
    Stage.CANARY: _UNDER_WAY,
    Stage.ACTIVE: (RolloutAction.RESULT, RolloutAction.REVOKE, RolloutAction.ROLLBACK),
    Stage.REVOKED: (RolloutAction.PROMOTE, RolloutAction.ROLLBACK),
}
# A hold of an active skill is the daemon's, and ends when the skill is rolled back.
_NOT_WHILE_HELD: Final = {
    **dict.fromkeys(Stage, frozenset({RolloutAction.HOLD, RolloutAction.ROLLBACK})),
    Stage.ACTIVE: frozenset({RolloutAction.HOLD}),
}


def actions_of(rollout: Rollout) -> tuple[RolloutAction, ...]:
    """The actions that are possible now; a held rollout can be released."""
    actions = ACTIONS[rollout.status]
    if rollout.held_reason is None:
        return actions
    refused = _NOT_WHILE_HELD[rollout.status]
    return (*(it for it in actions if it not in refused), RolloutAction.RELEASE)
