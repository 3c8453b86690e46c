"""Use cases of the learning policy: look, decide, try out, take back."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING, Any

from understudy.core.clock import Clock
from understudy.core.errors import FieldError, Invalid, Unavailable
from understudy.core.principal import Principal
from understudy.learnings.deciding import require_candidate
from understudy.learnings.guard import NO_LITERALS, Guard
from understudy.review.dry_run import DEFAULT_DAYS, DryRun, dry_run, look
from understudy.review.evaluate import Evaluation, evaluate
from understudy.review.policy import SETTING, LearningPolicy
from understudy.review.policy_fields import MAX_PROBLEMS
from understudy.review.policy_in_force import policy_in, stored_policy, usable_policy
from understudy.review.policy_json import policy_json
from understudy.review.policy_reading import CODE, read_policy, wrong_policy
from understudy.review.policy_texts import model_choices, texts_in
from understudy.runtime.model import Revision
from understudy.runtime.service import RuntimeService
from understudy.runtime.setting import Setting

if TYPE_CHECKING:
    from understudy.storage.unit import Units

PolicyAt = tuple[LearningPolicy, Revision]


@dataclass(frozen=True, slots=True)
class LearningPolicyService:
    """What an operator decides about learning."""

    units: "Units"
    clock: Clock
    runtime: RuntimeService
    route_exists: Callable[[str], bool]
    guard: Guard = NO_LITERALS
    # Held by who tries a policy out.
    trying: Lock = field(default_factory=Lock)

    def policy(self) -> PolicyAt:
        """The policy in force, and the revision it is part of."""
        return self._setting.current()

    def set_policy(
        self,
        principal: Principal,
        given: Mapping[str, Any],
        *,
        expected_revision: int | None = None,
    ) -> PolicyAt:
        """Put another policy in place; every pending candidate is reviewed again under it."""
        policy = self.read(given)
        return self._setting.change(principal, policy, expected_revision=expected_revision)

    def roll_back_policy(
        self,
        principal: Principal,
        target_revision: int | None = None,
        *,
        expected_revision: int | None = None,
    ) -> PolicyAt:
        """Bring the policy of an earlier revision back, and leave all other settings as they are."""
        return self._setting.roll_back(
            principal, target_revision, expected_revision=expected_revision
        )

    def policy_revisions(self) -> tuple[PolicyAt, ...]:
        """The policy after each kept change of it, newest first."""
        return self._setting.revisions()

    def dry_run(self, given: Mapping[str, Any], *, days: int = DEFAULT_DAYS) -> DryRun:
        """What another policy would do with what waits and with what was decided lately.

        It is work for a processor, so there is one at a time; others are told to come again.
        """
        proposed, now = self.read(given), self.clock.now_ms()
        if not self.trying.acquire(blocking=False):
            detail = "another dry run is under way; try again when it is done"
            raise Unavailable("dry_run_busy", domain="runtime", detail=detail)
        try:
            with self.units.read() as unit:
                looked_at = look(unit, days=days, now_ms=now)
            return dry_run(looked_at, proposed, now_ms=now)
        finally:
            self.trying.release()

    def explain(self, candidate_id: str) -> Evaluation:
        """What the policy in force says of a candidate, rule by rule."""
        with self.units.read() as unit:
            candidate = require_candidate(unit, candidate_id)
            return evaluate(candidate, policy_in(unit), now_ms=self.clock.now_ms())

    def read(self, given: Mapping[str, Any]) -> LearningPolicy:
        """A policy as somebody gave it, whose routes there are and which names no secret; or `Invalid`."""
        if not given:
            raise Invalid(CODE, domain="runtime", detail="name at least one field")
        policy = read_policy(given)
        problems = [*self._secrets(policy), *self._unknown_routes(policy)]
        if problems:
            raise wrong_policy(problems[:MAX_PROBLEMS])
        return policy

    @property
    def _setting(self) -> Setting[LearningPolicy]:
        return Setting(
            name=SETTING,
            runtime=self.runtime,
            stored=stored_policy,
            usable=usable_policy,
            to_json=policy_json,
        )

    def _secrets(self, policy: LearningPolicy) -> Iterator[FieldError]:
        """What would be shown in reviews, in the status and to models, and never may be."""
        for pointer, text in texts_in(policy):
            reason = self.guard.reason(text)
            if reason is not None:
                detail = f"this looks like secret material ({reason})"
                yield FieldError(pointer=pointer, code="secret", detail=detail)

    def _unknown_routes(self, policy: LearningPolicy) -> Iterator[FieldError]:
        for pointer, choice in model_choices(policy).items():
            if choice and choice.provider and not self.route_exists(choice.provider):
                detail = "there is no such route"
                yield FieldError(pointer=f"{pointer}/provider", code="unknown_route", detail=detail)
