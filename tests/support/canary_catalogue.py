"""A catalogue in which canaries are offered to a share of the sessions."""

from pathlib import Path

from tests.support.mounted_rollouts import MountedRollouts
from understudy.review.policy import PromotionSettings
from understudy.rollout.canary_share import CanaryShare, make_secret
from understudy.rollout.model import Stage
from understudy.rollout.promoted_skills import PromotedSkills, for_everybody
from understudy.skills.bundles.store import BundleChecks
from understudy.skills.catalogue import Catalogue
from understudy.storage.unit import Units


class Canaries(MountedRollouts):
    """A daemon that offers canaries as its policy says; to nobody, at first."""

    def __init__(self, units: Units, home: Path) -> None:
        super().__init__(units, home, looks_around=False)
        share = CanaryShare(policy_of=lambda _unit: self.hand.policy)
        self.promoted = PromotedSkills(
            self.keeper,
            self.repair,
            {Stage.ACTIVE: for_everybody, Stage.CANARY: share},
            clock=self.clock,
        )
        make_secret(units, self.clock)
        self.catalogue = Catalogue(units, self.local, BundleChecks(), others=self.promoted)

    def set_share(self, percent: int) -> None:
        """Have the policy say so."""
        self.hand.policy = PromotionSettings(canary_share_percent=percent)
