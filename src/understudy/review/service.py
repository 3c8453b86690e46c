"""Use cases of the learning policy: read, set, roll back, explain, try out."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING, Any, ClassVar

from understudy.core.clock import Clock
from understudy.core.errors import FieldError, coded_error
from understudy.learnings.capture_settings import ModelChoice
from understudy.learnings.decisions import require_candidate
from understudy.learnings.guard import NO_LITERALS, SecretGuard
from understudy.learnings.model import Mode
from understudy.review.dry_run import DEFAULT_DAYS, DryRun, dry_run, read_input
from understudy.review.evaluate import Evaluation, evaluate
from understudy.review.policy import LEARNING_POLICY, LearningPolicy, policy_in
from understudy.runtime.policy import PolicyKind, VersionedPolicy
from understudy.runtime.service import Revision

if TYPE_CHECKING:
    from understudy.storage.unit import Unit, Units


@dataclass(frozen=True, slots=True, kw_only=True)
class LearningPolicyService(VersionedPolicy[LearningPolicy]):
    """The learning policy; a change has every pending candidate reviewed again."""

    kind: ClassVar[PolicyKind[LearningPolicy]] = LEARNING_POLICY

    units: "Units"
    clock: Clock
    route_exists: Callable[[str], bool]
    guard: SecretGuard = NO_LITERALS
    # Held during a dry run.
    trying: Lock = field(default_factory=Lock)

    def dry_run(self, given: Mapping[str, Any], *, days: int = DEFAULT_DAYS) -> DryRun:
        """The dry run of a policy on open and recently decided candidates.

        It takes CPU time, so only one runs at a time; others are refused.
        """
        proposed, now = self.read(given), self.clock.now_ms()
        if not self.trying.acquire(blocking=False):
            raise coded_error("runtime/dry_run_busy")
        try:
            with self.units.read() as unit:
                looked_at = read_input(unit, days=days, now_ms=now)
            return dry_run(looked_at, proposed, now_ms=now)
        finally:
            self.trying.release()

    def explain(self, candidate_id: str) -> Evaluation:
        """The evaluation of a candidate under the policy in force."""
        with self.units.read() as unit:
            candidate = require_candidate(unit, candidate_id)
            return evaluate(candidate, policy_in(unit), now_ms=self.clock.now_ms())

    def read(self, given: Mapping[str, Any]) -> LearningPolicy:
        """A policy whose routes exist and which contains no secret, or `Invalid`."""
        # No `super()`: a dataclass with slots is another class than the one written here.
        policy = VersionedPolicy.read(self, given)
        problems = [*self._secrets(policy), *self._unknown_routes(policy)]
        if problems:
            raise LEARNING_POLICY.refused(problems)
        return policy

    def _secrets(self, policy: LearningPolicy) -> Iterator[FieldError]:
        """Secrets in the texts of a policy, which appear in reviews, status and model calls."""
        for pointer, text in _texts_in(policy):
            reason = self.guard.reason(text)
            if reason is not None:
                detail = f"this looks like secret material ({reason})"
                yield FieldError(pointer=pointer, code="secret", detail=detail)

    def _unknown_routes(self, policy: LearningPolicy) -> Iterator[FieldError]:
        for pointer, choice in _model_choices(policy).items():
            if choice and choice.provider and not self.route_exists(choice.provider):
                detail = "there is no such route"
                yield FieldError(pointer=f"{pointer}/provider", code="unknown_route", detail=detail)


def _model_choices(policy: LearningPolicy) -> dict[str, ModelChoice | None]:
    """The models that a policy names."""
    return {
        "/capture/semantic_candidates/model": policy.capture.semantic_candidates.model,
        "/judge/model": policy.judge.model,
    }


def _texts_in(policy: LearningPolicy) -> Iterator[tuple[str, str]]:
    """The free texts of a policy by their pointer: names, ids and model settings."""
    publication = policy.publication
    yield from _texts("/publication/quarantined_rule_names", publication.quarantined_rule_names)
    for index, rule in enumerate(publication.rules):
        named = {"name": rule.name, "scope_id": rule.scope_id}
        yield from _texts(f"/publication/rules/{index}", named)
    for pointer, choice in _model_choices(policy).items():
        if choice is not None:
            yield from _texts(f"{pointer}/provider", choice.provider)
            yield from _texts(f"{pointer}/generation", choice.generation)


def _texts(pointer: str, value: Any) -> Iterator[tuple[str, str]]:
    """Every text in a value."""
    if isinstance(value, str):
        yield pointer, value
    elif isinstance(value, Mapping):
        for name, item in value.items():
            yield from _texts(f"{pointer}/{name}", item)
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            yield from _texts(f"{pointer}/{index}", item)


def policy_hook(
    clock: Clock, ring: Callable[[], None]
) -> Callable[["Unit", Revision, Revision], None]:
    """The hook for the transaction of a new revision; `ring` wakes the review worker.

    A revision with an unreadable policy is refused.
    """

    def queue_again(unit: "Unit", before: Revision, after: Revision) -> None:
        setting = LEARNING_POLICY.setting
        if before.document.get(setting) == after.document.get(setting):
            return
        if LEARNING_POLICY.stored(after.document).mode is Mode.MANUAL_ONLY:
            return
        unit.candidates.queue_pending(due_at_ms=clock.now_ms())
        unit.after_commit(ring)

    return queue_again
