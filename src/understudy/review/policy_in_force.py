"""The learning policy that counts now."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import structlog

from understudy.core.errors import Invalid
from understudy.learnings.capture_settings import CaptureSettings
from understudy.learnings.model import Mode
from understudy.review.policy import (
    DEFAULT,
    SETTING,
    JudgeSettings,
    LearningPolicy,
    PromotionSettings,
)
from understudy.review.policy_json import policy_digest
from understudy.review.policy_reading import read_policy
from understudy.runtime.service import current_revision

if TYPE_CHECKING:
    from understudy.storage.unit import Unit

log = structlog.get_logger()

# What counts where nobody can tell what the operator decided: nothing happens by itself.
CLOSED: Final = LearningPolicy(
    mode=Mode.MANUAL_ONLY,
    capture=CaptureSettings(run_summary_candidates=False),
    promotion=PromotionSettings(require_executed_evidence=True, require_replay=True),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyInForce:
    """A policy with what a review under it is known by."""

    policy: LearningPolicy
    revision: int
    digest: str


def in_force(unit: "Unit") -> PolicyInForce:
    """The policy that counts, with its revision and digest."""
    revision = current_revision(unit)
    policy = usable_policy(revision.document)
    return PolicyInForce(policy=policy, revision=revision.revision, digest=policy_digest(policy))


def policy_in(unit: "Unit") -> LearningPolicy:
    """The policy that counts."""
    return usable_policy(current_revision(unit).document)


def capture_in(unit: "Unit") -> CaptureSettings:
    """What is captured under the policy that counts."""
    return policy_in(unit).capture


def promotion_in(unit: "Unit") -> PromotionSettings:
    """What a procedure must show under the policy that counts."""
    return policy_in(unit).promotion


def judge_in(unit: "Unit") -> JudgeSettings:
    """Whether and where a model is asked under the policy that counts."""
    return policy_in(unit).judge


def usable_policy(document: Mapping[str, Any]) -> LearningPolicy:
    """The policy of a runtime document; the closed one where it is damaged."""
    try:
        return stored_policy(document)
    except Invalid as problem:
        places = [error.pointer for error in problem.errors]
    log.error("learning_policy.damaged", places=places[:5])
    return CLOSED


def stored_policy(document: Mapping[str, Any]) -> LearningPolicy:
    """The policy of a runtime document; the default where it sets none; `Invalid` if damaged."""
    return _read(json.dumps(document[SETTING])) if SETTING in document else DEFAULT


# Every run that ends asks for it.
@lru_cache(maxsize=8)
def _read(stored: str) -> LearningPolicy:
    return read_policy(json.loads(stored))
