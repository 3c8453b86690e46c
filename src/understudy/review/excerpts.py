"""What of a policy counts for one candidate, so that no rules are told of that nobody reads."""

from dataclasses import dataclass, field, replace

from understudy.learnings.model import Candidate
from understudy.review.matching import deciding_rule
from understudy.review.policy import LearningPolicy


@dataclass(frozen=True, slots=True)
class Excerpts:
    """A policy, cut down for each candidate to what decides about it."""

    policy: LearningPolicy
    # By the place of the rule that decides.
    _cut: dict[int | None, LearningPolicy] = field(default_factory=dict)

    def for_(self, candidate: Candidate) -> LearningPolicy:
        """A policy that says the same of this candidate."""
        place = deciding_rule(candidate, self.policy.publication)
        if place not in self._cut:
            self._cut[place] = self._only(place)
        return self._cut[place]

    def _only(self, place: int | None) -> LearningPolicy:
        rules = self.policy.publication.rules
        # A rule without a name is known by its place, so those before it stay.
        first = place if place is not None and rules[place].name else 0
        kept = () if place is None else rules[first : place + 1]
        return replace(self.policy, publication=replace(self.policy.publication, rules=kept))
