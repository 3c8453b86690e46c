"""Sources, evidence and reviews of the learning plane as JSON, and back."""

from dataclasses import asdict
from typing import Any, Final

from understudy.learnings.model import (
    Action,
    AutomationReview,
    EvidenceRef,
    JudgeVerdict,
    Mode,
    Source,
)
from understudy.storage.typed_json import fields_of

SOURCE: Final = {
    "run_id": str,
    "session_id": str,
    "agent_id": str,
    "input_event_offset": int,
    "observation_id": str,
    "derivation_id": str,
}
EVIDENCE: Final = {"run_id": str, "artifact_id": str, "note": str}
REVIEW: Final = {
    "mode": str,
    "action": str,
    "reviewed_at_ms": int,
    "reason": str,
    "policy_revision": int,
}
RULE: Final = {"matched_rule_name": str}
VERDICT: Final = {"action": str, "judged_at_ms": int, "reason": str}


def read_source(stored: Any) -> Source:
    """Where something was said."""
    return Source(**fields_of(stored, SOURCE, optional=True))


def read_evidence(stored: Any) -> EvidenceRef:
    """What speaks for something."""
    return EvidenceRef(**fields_of(stored, EVIDENCE, optional=True))


def review_json(review: AutomationReview) -> dict[str, Any]:
    """What automation made of a candidate."""
    return asdict(review)


def read_review(stored: Any) -> AutomationReview:
    """What automation made of a candidate."""
    said = fields_of(stored, REVIEW, optional=False)
    judge = stored["judge"]
    return AutomationReview(
        **said | {"mode": Mode(said["mode"]), "action": Action(said["action"])},
        **fields_of(stored, RULE, optional=True),
        judge=None if judge is None else _verdict(judge),
    )


def _verdict(stored: Any) -> JudgeVerdict:
    said = fields_of(stored, VERDICT, optional=False)
    return JudgeVerdict(**said | {"action": Action(said["action"])})
