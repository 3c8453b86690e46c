"""Candidates and learnings as the API answers them."""

from typing import Any

from understudy.core.records import parsed
from understudy.learnings.candidates import ReviewItem

WORKSPACE = {"kind": "workspace", "id": "default"}


def item_document(candidate_id: str = "cand_1", **more: Any) -> dict[str, Any]:
    """A candidate that waits, with what whoever decides should know."""
    return {
        "candidate_id": candidate_id,
        "origin": "daemon",
        "scope": {"kind": "session", "id": "demo"},
        "kind": "preference",
        "sensitivity": "scoped",
        "content": "Replies are short",
        "confidence": 98,
        "source": {"run_id": "run_1", "session_id": "demo"},
        "evidence_refs": [{"run_id": "run_1"}],
        "created_at_ms": 1,
        "state": "pending",
        "semantic_key": "reply=short",
        "capture_path": "labels",
        "derived_from_untrusted": False,
        "declined_before": False,
        "version": 1,
        "actions": ["publish", "reject"],
        "expired": False,
        "contradicts": [],
        "rejected_before": [],
        "revoked_before": [],
        **more,
    }


def item(candidate_id: str = "cand_1", **more: Any) -> ReviewItem:
    return parsed(ReviewItem, item_document(candidate_id, **more))


def related_document(learning_id: str = "lrn_9", content: str = "Replies are long") -> Any:
    """Another learning, in short."""
    return {
        "learning_id": learning_id,
        "scope": WORKSPACE,
        "status": "active",
        "content": content,
    }


def learning_document(learning_id: str = "lrn_1", **more: Any) -> dict[str, Any]:
    """A learning that was just published."""
    return {
        "learning_id": learning_id,
        "scope": {"kind": "session", "id": "demo"},
        "kind": "preference",
        "sensitivity": "scoped",
        "content": "Replies are short",
        "confidence": 98,
        "source": {"run_id": "run_1", "session_id": "demo"},
        "evidence_refs": [],
        "created_at_ms": 1,
        "published_at_ms": 2,
        "status": "active",
        "publish_tier": "active",
        "policy_decision": "manual",
        "policy_actor": "operator",
        "verification_status": "unverified",
        "semantic_key": "reply=short",
        "derived_from_untrusted": False,
        "version": 1,
        "actions": ["revoke", "supersede"],
        "contradicts": [],
        **more,
    }
