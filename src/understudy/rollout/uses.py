"""How a promoted skill fares with the runs that are offered it, as people are shown it."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from understudy.rollout.confidence import Tally
from understudy.rollout.counting import Sums
from understudy.rollout.model import Rollout
from understudy.rollout.outcome import OutcomeCounts, tally_of
from understudy.rollout.sharing import has_failed, share_of
from understudy.rollout.stages import Stage
from understudy.rollout.watching import watch_of

if TYPE_CHECKING:
    from understudy.review.policy import PromotionSettings
    from understudy.storage.unit import Unit


@dataclass(frozen=True, slots=True, kw_only=True)
class Uses:
    """Who is offered the current definition, and what became of those that used it."""

    # Of the sessions that may know of it at all.
    offered_percent: int
    canary: OutcomeCounts
    active: OutcomeCounts
    # What the runs of today are measured by, and what these show.
    baseline: Tally
    recent: Tally


def uses_of(unit: "Unit", rollout: Rollout, rules: "PromotionSettings", sums: Sums) -> Uses:
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
