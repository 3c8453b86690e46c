"""A learning policy as it is stored and shown, and what tells two of them apart."""

import hashlib
import json
from dataclasses import asdict
from typing import Any

from understudy.learnings.capture_settings import ModelChoice
from understudy.review.policy import LearningPolicy, Rule


def policy_json(policy: LearningPolicy) -> dict[str, Any]:
    """The whole policy, also what is as it is by default."""
    semantic, publication = policy.capture.semantic_candidates, policy.publication
    return {
        "mode": str(policy.mode),
        "capture": {
            "run_summary_candidates": policy.capture.run_summary_candidates,
            "semantic_candidates": {
                "enabled": semantic.enabled,
                "model": _model_json(semantic.model),
                "timeout_ms": semantic.timeout_ms,
                "max_candidates_per_run": semantic.max_candidates_per_run,
            },
        },
        "publication": {
            "default_action": str(publication.default_action),
            "allow_api_origin_active_publication": publication.allow_api_origin_active_publication,
            "allow_untrusted_active_publication": publication.allow_untrusted_active_publication,
            "quarantined_rule_names": list(publication.quarantined_rule_names),
            "rules": [_rule_json(rule) for rule in publication.rules],
        },
        "judge": {
            "enabled": policy.judge.enabled,
            "model": _model_json(policy.judge.model),
            "timeout_ms": policy.judge.timeout_ms,
        },
        "promotion": asdict(policy.promotion),
    }


def policy_digest(policy: LearningPolicy) -> str:
    """The same for two policies that review the same, whenever and by whom they were put in force."""
    said = policy_json(policy)
    # All that reviewing ever knew of promotion: what it asks beside that is none of its business,
    # and must not have everything reviewed again.
    said["promotion"] = {name: said["promotion"][name] for name in ("require_executed_evidence",)}
    canonical = json.dumps(said, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


def _rule_json(rule: Rule) -> dict[str, Any]:
    return {
        name: str(value) if isinstance(value, str) else value
        for name, value in asdict(rule).items()
        if value is not None
    }


def _model_json(model: ModelChoice | None) -> dict[str, Any] | None:
    if model is None:
        return None
    return {name: value for name, value in asdict(model).items() if value is not None}
