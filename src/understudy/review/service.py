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
from understudy.review.dry_run import DEFAULT_DAYS, DryRun, dry_run, look
from understudy.review.evaluate import Evaluation, evaluate
from understudy.review.policy import LEARNING_POLICY, LearningPolicy, policy_in
from understudy.runtime.model import Revision
from understudy.runtime.policy import PolicyKind, VersionedPolicy

if TYPE_CHECKING:
    from understudy.storage.unit import Unit, Units


@dataclass(frozen=True, slots=True, kw_only=True)
class LearningPolicyService(VersionedPolicy[LearningPolicy]):
    """What an operator decides about learning.

    Every candidate that waits is reviewed again under another policy.
    """

    kind: ClassVar[PolicyKind[LearningPolicy]] = LEARNING_POLICY

    units: "Units"
    clock: Clock
    route_exists: Callable[[str], bool]
    guard: SecretGuard = NO_LITERALS
    # Held by who tries a policy out.
    trying: Lock = field(default_factory=Lock)

    def dry_run(self, given: Mapping[str, Any], *, days: int = DEFAULT_DAYS) -> DryRun:
        """What another policy would do with what waits and with what was decided lately.

        It is work for a processor, so there is one at a time; others are told to come again.
        """
        proposed, now = self.read(given), self.clock.now_ms()
        if not self.trying.acquire(blocking=False):
            raise coded_error("runtime/dry_run_busy")
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
        """A policy whose routes there are and which names no secret, or `Invalid`."""
        # No `super()`: the class that slots make is another than the one written here.
        policy = VersionedPolicy.read(self, given)
        problems = [*self._secrets(policy), *self._unknown_routes(policy)]
        if problems:
            raise LEARNING_POLICY.refused(problems)
        return policy

    def _secrets(self, policy: LearningPolicy) -> Iterator[FieldError]:
        """What would be shown in reviews, in the status and to models, and never may be."""
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
    """What somebody wrote freely, by where it stands: names, ids and settings of models."""
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
    """What the runtime service calls in the transaction of a new revision; `ring` wakes workers.

    A revision whose policy cannot be read is not made.
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
