"""Whether an active skill does worse than it did: rules that compare what was counted."""

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


# So many of the first runs in force may raise what the later ones are measured by.
FIRST_USES: Final = 10
# So many of the newest runs are what is measured, and fewer than the least say nothing.
RECENT_USES: Final = 20
LEAST_USES: Final = 10
# Among so many of the newest they are looked for, so that one busy session hides no other.
LOOKED_AT: Final = 100
# So many sessions have to see it fail, or all that there are.
LEAST_SESSIONS: Final = 3
# Of its first runs at least this part has to succeed, whatever it had shown before.
LEAST_RATE: Final = 0.5
NEVER_MS: Final = 2**62
NOTHING: Final = SuccessTally(successes=0, tries=0)

UseOutcomes = tuple[UseOutcome, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Watch:
    """What an active definition did before it was in force, at first, and lately."""

    # In the canary: as the daemon saw it, and as somebody says.
    tried: SuccessTally = NOTHING
    attested: SuccessTally = NOTHING
    # When recorded runs were run again with it.
    replayed: SuccessTally = NOTHING
    # In force, oldest first.
    first: UseOutcomes = ()
    # Since it is watched, newest first; some may be among the first.
    recent: UseOutcomes = ()

    @property
    def shown(self) -> SuccessTally:
        """What it had shown when it came into force; somebody's word counts where nothing else is."""
        seen = _sum(self.tried, self.replayed)
        return seen if seen.tries else self.attested

    @property
    def baseline(self) -> SuccessTally:
        """What it is measured by after its first runs; these never lower it, or a skill that fails
        from the beginning would set its own standard."""
        with_first = _sum(self.shown, tally_of(self.first[:FIRST_USES]))
        return max(self.shown, with_first, key=lambda it: (wilson_lower_bound(it), it.tries))

    @property
    def sessions(self) -> int:
        """How many sessions used it lately; all sidechains of a session count as that session."""
        return len(_sessions(self.recent))

    @property
    def lately(self) -> UseOutcomes:
        """The newest runs."""
        return self._fairly(self.recent)

    @property
    def later(self) -> UseOutcomes:
        """The newest runs that are not part of the baseline."""
        return self._recent_of(known=False, among=self.first[:FIRST_USES])

    @property
    def early(self) -> UseOutcomes:
        """Of its first runs those since it is watched."""
        return self._recent_of(known=True, among=self.first)

    @property
    def failed_run_ids(self) -> tuple[str, ...]:
        """The runs that carried it out lately and failed, newest first."""
        failed = (it for it in self.lately if it.outcome is SkillOutcome.FAILED)
        return tuple(it.carrying_run_id or it.run_id for it in failed)

    def _recent_of(self, *, known: bool, among: UseOutcomes) -> UseOutcomes:
        ids = {it.run_id for it in among}
        return self._fairly(it for it in self.recent if (it.run_id in ids) is known)

    def _fairly(self, outcomes: Iterable[UseOutcome]) -> UseOutcomes:
        """The first so many that are measured, of which no session has more than its share.

        One session alone has all of them; from eleven on each has a single one.
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
class Worse:
    """That what a skill does is below what it has to reach, and by how much."""

    recent: SuccessTally
    # None where it fails more often than not, whatever it had shown.
    baseline: SuccessTally | None

    @property
    def words(self) -> str:
        """The figures, for people."""
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
    """Some runs, and what they have to reach; None is the least rate of all."""

    measured: Callable[[Watch], UseOutcomes]
    baseline: Callable[[Watch], SuccessTally | None]


# The first that speaks against a skill counts.
COMPARISONS: Final[tuple[Comparison, ...]] = (
    Comparison(measured=lambda it: it.lately, baseline=lambda it: it.shown),
    Comparison(measured=lambda it: it.later, baseline=lambda it: it.baseline),
    Comparison(measured=lambda it: it.early, baseline=lambda _: None),
)


def worse(watch: Watch) -> Worse | None:
    """The first comparison that speaks against a skill with confidence."""
    for each in COMPARISONS:
        measured, baseline = each.measured(watch), each.baseline(watch)
        recent = tally_of(measured)
        if _is_enough(measured, sessions=watch.sessions) and _is_below(recent, baseline):
            return Worse(recent=recent, baseline=baseline)
    return None


def _is_enough(measured: UseOutcomes, *, sessions: int) -> bool:
    """Whether there are enough runs to tell, and enough sessions that saw it fail."""
    failing = _sessions(it for it in measured if it.outcome is SkillOutcome.FAILED)
    return len(measured) >= LEAST_USES and len(failing) >= min(LEAST_SESSIONS, sessions)


def _sessions(outcomes: Iterable[UseOutcome]) -> frozenset[str]:
    return frozenset(it.root_session_id for it in outcomes)


def _is_below(recent: SuccessTally, baseline: SuccessTally | None) -> bool:
    """Whether a rate is below with confidence."""
    if baseline is None:
        return wilson_interval(recent).high < LEAST_RATE
    return is_worse(recent, baseline)


def watch_of(unit: "Unit", rollout: Rollout, sums: EvidenceSums) -> Watch:
    """What is known of the current definition of a rollout, of which so much was counted."""
    about = (rollout.skill_name, rollout.fingerprint, Stage.ACTIVE)
    every, tried = _of_canary(sums.every), _of_canary(sums.executed)
    return Watch(
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
    """Since when it is watched: whoever put it in force, or let it go on, has seen what was before.

    One that was taken back is shown as it was then.
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
    """Who is offered the current definition, and what became of those that used it."""

    # Of the sessions that may know of it at all.
    offered_percent: int
    canary: OutcomeCounts
    active: OutcomeCounts
    # What the runs of today are measured by, and what these show.
    baseline: SuccessTally
    recent: SuccessTally


def uses_of(unit: "Unit", rollout: Rollout, rules: "PromotionSettings", sums: EvidenceSums) -> Uses:
    """The figures of a rollout as they stand."""
    counts = unit.rollout_outcomes.counts(rollout.skill_name, rollout.fingerprint)
    watch = watch_of(unit, rollout, sums)
    return Uses(
        offered_percent=0
        if has_failed(rollout, sums)
        else share_of(rollout, rules.canary_share_percent),
        canary=counts.get(Stage.CANARY, OutcomeCounts()),
        active=counts.get(Stage.ACTIVE, OutcomeCounts()),
        baseline=watch.baseline,
        # While all that there are belong to the first ones, these are what is measured.
        recent=tally_of(watch.later or watch.lately),
    )
