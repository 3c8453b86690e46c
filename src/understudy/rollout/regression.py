"""Whether an active skill does worse than its baseline: rules that compare success tallies."""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from understudy.rollout.canary_share import has_failed, share_of
from understudy.rollout.evidence import Counts, EvidenceSums
from understudy.rollout.model import Rollout, Stage
from understudy.rollout.outcome import (
    OutcomeCounts,
    SkillOutcome,
    SuccessTally,
    UseOutcome,
    is_worse,
    tally_of,
    wilson_interval,
    wilson_lower_bound,
)
from understudy.rollout.replay.report import replayed

if TYPE_CHECKING:
    from understudy.review.policy import PromotionSettings
    from understudy.storage.unit import Unit


# The first active uses that may raise the baseline of later ones.
FIRST_USES: Final = 10
# The newest uses that are compared; fewer than the minimum decide nothing.
RECENT_USES: Final = 20
LEAST_USES: Final = 10
# How many of the newest uses are read, so that one busy session does not hide the others.
LOOKED_AT: Final = 100
# How many sessions must have seen a failure, or all if there are fewer.
LEAST_SESSIONS: Final = 3
# The minimum success rate of the first uses, whatever the evidence was.
LEAST_RATE: Final = 0.5
NEVER_MS: Final = 2**62
NOTHING: Final = SuccessTally(successes=0, tries=0)

UseOutcomes = tuple[UseOutcome, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class UseHistory:
    """The success of a definition before it was active, in its first uses, and in its newest uses."""

    # Canary evidence: executed and attested.
    tried: SuccessTally = NOTHING
    attested: SuccessTally = NOTHING
    # Replayed cases.
    replayed: SuccessTally = NOTHING
    # The first active uses, oldest first.
    first: UseOutcomes = ()
    # The newest uses of the watched period, newest first; may overlap with the first uses.
    recent: UseOutcomes = ()

    @property
    def shown(self) -> SuccessTally:
        """The evidence from before the skill was active; attested evidence counts only without other."""
        seen = _sum(self.tried, self.replayed)
        return seen if seen.tries else self.attested

    @property
    def baseline(self) -> SuccessTally:
        """The tally that later uses are compared with. The first uses never lower it, or a skill that
        fails from the beginning would set its own standard."""
        with_first = _sum(self.shown, tally_of(self.first[:FIRST_USES]))
        return max(self.shown, with_first, key=lambda it: (wilson_lower_bound(it), it.tries))

    @property
    def sessions(self) -> int:
        """The number of root sessions among the newest uses."""
        return len(_sessions(self.recent))

    @property
    def lately(self) -> UseOutcomes:
        """The newest uses."""
        return self._fairly(self.recent)

    @property
    def later(self) -> UseOutcomes:
        """The newest uses that are not part of the baseline."""
        return self._recent_of(known=False, among=self.first[:FIRST_USES])

    @property
    def early(self) -> UseOutcomes:
        """The first uses that are in the watched period."""
        return self._recent_of(known=True, among=self.first)

    @property
    def failed_run_ids(self) -> tuple[str, ...]:
        """The newest runs that executed the skill and failed, newest first."""
        failed = (it for it in self.lately if it.outcome is SkillOutcome.FAILED)
        return tuple(it.carrying_run_id or it.run_id for it in failed)

    def _recent_of(self, *, known: bool, among: UseOutcomes) -> UseOutcomes:
        ids = {it.run_id for it in among}
        return self._fairly(it for it in self.recent if (it.run_id in ids) is known)

    def _fairly(self, outcomes: Iterable[UseOutcome]) -> UseOutcomes:
        """The newest uses up to the limit, with an equal share for each session.

        A single session has all of them; with eleven or more sessions each has one.
        """
        share = max(1, RECENT_USES // max(1, self.sessions))
        taken: Counter[str] = Counter()
        kept = []
        for each in outcomes:
            taken[each.root_session_id] += 1
            if taken[each.root_session_id] <= share:
                kept.append(each)
        return tuple(kept[:RECENT_USES])


@dataclass(frozen=True, slots=True, kw_only=True)
class Regression:
    """A success tally that is below its baseline."""

    recent: SuccessTally
    # None: it is below the minimum rate.
    baseline: SuccessTally | None

    @property
    def detail(self) -> str:
        """The figures in words."""
        recent, baseline = self.recent, self.baseline
        if baseline is None:
            return (
                f"{recent.successes} of its first {recent.tries} runs succeeded, so it fails more"
                " often than not"
            )
        return (
            f"{recent.successes} of its last {recent.tries} runs succeeded, which is below its"
            f" baseline of {baseline.successes} of {baseline.tries}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The uses that are compared, and their baseline; None is the minimum rate."""

    measured: Callable[[UseHistory], UseOutcomes]
    baseline: Callable[[UseHistory], SuccessTally | None]


# The first comparison that finds a regression decides.
COMPARISONS: Final[tuple[Comparison, ...]] = (
    Comparison(measured=lambda it: it.lately, baseline=lambda it: it.shown),
    Comparison(measured=lambda it: it.later, baseline=lambda it: it.baseline),
    Comparison(measured=lambda it: it.early, baseline=lambda _: None),
)


def regression_of(watch: UseHistory) -> Regression | None:
    """The regression of the first comparison that finds one with confidence."""
    for each in COMPARISONS:
        measured, baseline = each.measured(watch), each.baseline(watch)
        recent = tally_of(measured)
        if _is_enough(measured, sessions=watch.sessions) and _is_below(recent, baseline):
            return Regression(recent=recent, baseline=baseline)
    return None


def _is_enough(measured: UseOutcomes, *, sessions: int) -> bool:
    """Whether there are enough uses, and enough sessions with a failure."""
    failing = _sessions(it for it in measured if it.outcome is SkillOutcome.FAILED)
    return len(measured) >= LEAST_USES and len(failing) >= min(LEAST_SESSIONS, sessions)


def _sessions(outcomes: Iterable[UseOutcome]) -> frozenset[str]:
    return frozenset(it.root_session_id for it in outcomes)


def _is_below(recent: SuccessTally, baseline: SuccessTally | None) -> bool:
    """Whether a success rate is below its baseline with confidence."""
    if baseline is None:
        return wilson_interval(recent).high < LEAST_RATE
    return is_worse(recent, baseline)


def use_history_of(unit: "Unit", rollout: Rollout, sums: EvidenceSums) -> UseHistory:
    """The use history of the current definition of a rollout."""
    about = (rollout.skill_name, rollout.fingerprint, Stage.ACTIVE)
    every, tried = _of_canary(sums.every), _of_canary(sums.executed)
    return UseHistory(
        tried=tried,
        attested=SuccessTally(
            successes=every.successes - tried.successes, tries=every.tries - tried.tries
        ),
        replayed=replayed(unit, rollout),
        first=unit.rollout_outcomes.first(*about, limit=RECENT_USES),
        recent=unit.rollout_outcomes.newest(
            *about,
            since_ms=_since_ms(unit, rollout),
            limit=LOOKED_AT,
        ),
    )


def _since_ms(unit: "Unit", rollout: Rollout) -> int:
    """The start of the watched period: the last activation or release, when a person saw what was before.

    For a revoked rollout, the period that ended with the revocation.
    """
    until = NEVER_MS if rollout.revoked_at_ms is None else rollout.revoked_at_ms
    return unit.rollouts.watched_since_ms(rollout.skill_name, before_ms=until)


def _of_canary(counts: Counts) -> SuccessTally:
    successes = counts.canary_success_count
    return SuccessTally(successes=successes, tries=successes + counts.canary_failure_count)


def _sum(one: SuccessTally, other: SuccessTally) -> SuccessTally:
    return SuccessTally(successes=one.successes + other.successes, tries=one.tries + other.tries)


@dataclass(frozen=True, slots=True, kw_only=True)
class Uses:
    """The share of sessions that are offered the current definition, and the outcomes of its uses."""

    # Of the sessions that see the scope of the skill.
    offered_percent: int
    canary: OutcomeCounts
    active: OutcomeCounts
    # The tally of the newest uses, and the baseline that it is compared with.
    baseline: SuccessTally
    recent: SuccessTally


def uses_of(unit: "Unit", rollout: Rollout, rules: "PromotionSettings", sums: EvidenceSums) -> Uses:
    """The current use figures of a rollout."""
    counts = unit.rollout_outcomes.counts(rollout.skill_name, rollout.fingerprint)
    watch = use_history_of(unit, rollout, sums)
    return Uses(
        offered_percent=0
        if has_failed(rollout, sums)
        else share_of(rollout, rules.canary_share_percent),
        canary=counts.get(Stage.CANARY, OutcomeCounts()),
        active=counts.get(Stage.ACTIVE, OutcomeCounts()),
        baseline=watch.baseline,
        # While all uses belong to the first ones, these are compared.
        recent=tally_of(watch.later or watch.lately),
    )
