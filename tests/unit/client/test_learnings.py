"""Calls about candidates, learnings and the learning policy."""

import json
from typing import Any

import httpx2

from tests.unit.client.fake_daemon import answers, client_of, pages
from understudy.client import Client
from understudy.learnings.bulk import BulkAction
from understudy.learnings.model import CandidateState, Kind, ReviewAction
from understudy.sessions.learning_scopes import ScopeKind
from understudy.wire.learnings import (
    BulkDecision,
    CandidateFilterBody,
    CreateCandidate,
    EvidenceRefBody,
    PublishCandidate,
    RevokeMatching,
    ScopeBody,
    SupersedeLearning,
)

WORKSPACE = {"kind": "workspace", "id": "default"}
COMMON = {
    "scope": WORKSPACE,
    "kind": "fact",
    "sensitivity": "scoped",
    "content": "X is blue",
    "confidence": 80,
    "source": {},
    "evidence_refs": [],
    "created_at_ms": 1,
    "semantic_key": "x=blue",
    "subject_key": "x",
    "derived_from_untrusted": False,
    "version": 1,
    "actions": [],
}
CANDIDATE = {
    **COMMON,
    "candidate_id": "cand_1",
    "origin": "api",
    "state": "pending",
    "capture_path": "api",
    "declined_before": False,
}
ITEM = {
    **CANDIDATE,
    "expired": False,
    "contradicts": [],
    "rejected_before": [],
    "revoked_before": [],
}
LEARNING = {
    **COMMON,
    "learning_id": "lrn_1",
    "published_at_ms": 2,
    "status": "active",
    "publish_tier": "active",
    "verification_status": "unverified",
}
PUBLISHED = {**LEARNING, "contradicts": []}
USE = {"run_id": "run_1", "session_id": "s1", "learning_version": 1, "at_ms": 3}


def talking(*documents: Any) -> tuple[Client, list[httpx2.Request]]:
    handler, seen = answers(*(httpx2.Response(200, json=each) for each in documents))
    return client_of(handler)[0], seen


def sent(request: httpx2.Request) -> tuple[str, str, Any]:
    return request.method, request.url.path, json.loads(request.content)


def test_a_candidate_is_proposed_published_and_rejected_under_keys() -> None:
    client, seen = talking(CANDIDATE, PUBLISHED, PUBLISHED, CANDIDATE)
    wanted = CreateCandidate(
        scope=ScopeBody(kind=ScopeKind.WORKSPACE, id="default"),
        kind=Kind.FACT,
        content="X is blue",
        evidence_refs=[EvidenceRefBody(note="said so")],
    )

    assert client.candidates.create(wanted).candidate_id == "cand_1"
    client.candidates.publish("cand_1")
    client.candidates.publish("cand_1", PublishCandidate(supersedes="lrn_0"), key="mine")
    client.candidates.reject("cand_1", reason="not so")

    path = "/v1/learning-candidates"
    body = {
        "scope": WORKSPACE,
        "kind": "fact",
        "content": "X is blue",
        "evidence_refs": [{"note": "said so"}],
    }
    assert [sent(request) for request in seen] == [
        ("POST", path, body),
        ("POST", f"{path}/cand_1/publish", {}),
        ("POST", f"{path}/cand_1/publish", {"supersedes": "lrn_0"}),
        ("POST", f"{path}/cand_1/reject", {"reason": "not so"}),
    ]
    assert seen[2].headers["Idempotency-Key"] == "mine"
    assert len({request.headers["Idempotency-Key"] for request in seen}) == 4


def test_candidates_are_looked_at() -> None:
    explained = {
        "candidate_id": "cand_1",
        "policy_revision": 1,
        "mode": "shadow",
        "action": "manual_review",
        "reason": "no rule matched",
        "rules": [],
        "adjustments": [],
        "judge_may": [],
    }
    client, seen = talking(ITEM, {"item": ITEM}, {"item": None}, explained)

    assert client.candidates.get("cand_1").duplicate_of is None
    item = client.candidates.next().item
    assert item is not None
    assert client.candidates.next(after=item.candidate_id).item is None
    assert client.candidates.explain("cand_1").action == "manual_review"
    assert [request.url.raw_path for request in seen] == [
        b"/v1/learning-candidates/cand_1",
        b"/v1/learning-candidates/next",
        b"/v1/learning-candidates/next?after=cand_1",
        b"/v1/learning-candidates/cand_1/explain",
    ]


def test_lists_are_narrowed_and_read_to_their_end() -> None:
    handler, seen = answers(*pages([CANDIDATE], [CANDIDATE]), *pages([LEARNING]))
    client, _ = client_of(handler)

    assert len(list(client.candidates.list(state="pending", kind="fact"))) == 2
    assert [
        it.learning_id for it in client.learnings.list(policy_actor="daemon", matched_rule_name="r")
    ] == ["lrn_1"]
    assert [dict(request.url.params) for request in seen] == [
        {"state": "pending", "kind": "fact"},
        {"state": "pending", "kind": "fact", "cursor": "c0"},
        {"policy_actor": "daemon", "matched_rule_name": "r"},
    ]


def test_many_are_decided_at_once() -> None:
    outcome = {"candidate_id": "cand_1", "done": False, "code": "learning_conflict", "detail": "x"}
    client, seen = talking(
        {
            "action": "publish",
            "dry_run": True,
            "done_count": 0,
            "refused_count": 1,
            "items": [outcome],
            "has_more": False,
        },
        {"dry_run": True, "count": 1, "items": [LEARNING]},
    )

    decision = BulkDecision(
        action=BulkAction.PUBLISH,
        filter=CandidateFilterBody(state=CandidateState.PENDING),
        dry_run=True,
    )
    assert client.candidates.bulk(decision).items[0].code == "learning_conflict"
    which = RevokeMatching(policy_actor="daemon", dry_run=True)
    assert client.learnings.revoke_matching(which).count == 1
    assert [sent(request) for request in seen] == [
        (
            "POST",
            "/v1/learning-candidates/bulk",
            {"action": "publish", "filter": {"state": "pending"}, "dry_run": True},
        ),
        (
            "POST",
            "/v1/learnings/revoke-matching",
            {"policy_actor": "daemon", "dry_run": True},
        ),
    ]


def test_learnings_are_read_replaced_and_taken_back() -> None:
    client, seen = talking(LEARNING, PUBLISHED, LEARNING, LEARNING)

    assert client.learnings.get("lrn_1").status == "active"
    client.learnings.supersede("lrn_1", SupersedeLearning(content="X is red"))
    client.learnings.revoke("lrn_1")
    client.learnings.revoke("lrn_1", reason="wrong")

    assert [sent(request) for request in seen[1:]] == [
        ("POST", "/v1/learnings/lrn_1/supersede", {"content": "X is red"}),
        ("POST", "/v1/learnings/lrn_1/revoke", {}),
        ("POST", "/v1/learnings/lrn_1/revoke", {"reason": "wrong"}),
    ]


def test_the_uses_of_a_learning_are_read_to_their_end() -> None:
    lineage = {
        "learning": LEARNING,
        "reviews": [],
        "replaced": [],
        "replaced_by": [],
        "use_count": 2,
    }
    first = {**lineage, "uses": {"items": [USE], "next_cursor": "c"}}
    last = {**lineage, "uses": {"items": [USE], "next_cursor": None}}
    client, seen = talking(first, last)

    assert [use.run_id for use in client.learnings.uses("lrn_1")] == ["run_1", "run_1"]
    assert [dict(request.url.params) for request in seen] == [{}, {"cursor": "c"}]


def test_the_policy_is_read_replaced_tried_and_rolled_back() -> None:
    capture = {"enabled": False, "model": None, "timeout_ms": None, "max_candidates_per_run": 2}
    policy = {
        "mode": "shadow",
        "capture": {"run_summary_candidates": True, "semantic_candidates": capture},
        "publication": {
            "default_action": "manual_review",
            "allow_api_origin_active_publication": False,
            "allow_untrusted_active_publication": False,
            "quarantined_rule_names": [],
            "rules": [],
        },
        "judge": {"enabled": False, "model": None, "timeout_ms": None},
        "promotion": {
            "require_executed_evidence": False,
            "min_successes": 1,
            "min_sessions": 1,
            "require_replay": False,
            "canary_share_percent": 0,
            "demote_when_worse": True,
        },
    }
    view = {"policy": policy, "revision": 2, "updated_at_ms": 1}
    counts = {"manual_review": 1, "reject": 0, "publish_provisional": 0, "publish_active": 0}
    tried = {
        "days": 3,
        "pending_count": 1,
        "decided_count": 0,
        "truncated": False,
        "before": counts,
        "after": counts,
        "changes": [],
    }
    revision = {**view, "actor": "local", "setting": "learning_policy"}
    client, seen = talking(view, view, tried, {"items": [revision], "next_cursor": None}, view)

    assert client.learning_policy.get().policy.mode == "shadow"
    client.learning_policy.set({"mode": "enabled"}, expected_revision=1)
    assert (
        client.learning_policy.dry_run({"mode": "enabled"}, days=3).after[
            ReviewAction.MANUAL_REVIEW
        ]
        == 1
    )
    assert client.learning_policy.revisions_page(limit=1).items[0].actor == "local"
    client.learning_policy.roll_back(1)

    path = "/v1/runtime/learning-policy"
    assert [sent(request) for request in seen if request.method == "POST"] == [
        ("POST", path, {"policy": {"mode": "enabled"}, "expected_revision": 1}),
        ("POST", f"{path}/dry-run", {"policy": {"mode": "enabled"}, "days": 3}),
        ("POST", f"{path}/rollback", {"target_revision": 1}),
    ]
