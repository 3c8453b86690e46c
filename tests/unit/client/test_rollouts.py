"""Calls about rollouts and their trials."""

import json
from typing import Any

import httpx2
import pytest

from tests.unit.client.fake_daemon import answers, client_of, pages
from understudy.client import Client
from understudy.client.errors import WaitTimeout
from understudy.rollout.model import EvidenceKind, Stage
from understudy.wire.rollouts import PromoteSkill, RolloutResult, StartTrial

PATH = "/v1/learning-skills"
SUMMARY = {
    "skill_name": "team:notes",
    "source_learning_id": "lrn_1",
    "source_scope": {"kind": "workspace", "id": "default"},
    "status": "verified",
    "description": "Writes notes",
    "when_to_use": "Before a release",
    "runtime": {
        "context": "fork",
        "agent_profile": "verification",
        "allowed_tools": ["read_file"],
        "blocked_tools": [],
        "model": "small",
    },
    "definition_fingerprint": "f" * 64,
    "digest": "d" * 64,
    "verification_status": "verified",
    "successful_run_count": 1,
    "distinct_session_count": 1,
    "verifier_run_ids": ["run_1"],
    "real_daemon_verified": True,
    "executed_run_count": 0,
    "canary_success_count": 0,
    "canary_failure_count": 0,
    "attempt": 1,
    "revision": 3,
    "promoted_at_ms": 1,
    "promoted_by": "ann",
    "updated_at_ms": 2,
    "is_demoted": False,
    "instructions": "Write the notes.",
    "evidence_refs": [],
    "lifecycle_events": [],
    "actions": ["promote"],
}
ROLLOUT = {
    **SUMMARY,
    "warnings": [],
    "next": {"status": "canary", "missing": []},
    "uses": {
        "offered_percent": 0,
        "canary": {"succeeded": 1, "failed": 0, "abandoned": 0},
        "active": {"succeeded": 0, "failed": 0, "abandoned": 0},
        "baseline": {"successes": 1, "tries": 1, "rate": 1.0},
        "recent": {"successes": 0, "tries": 0},
    },
}
ACTIVE = {name: value for name, value in ROLLOUT.items() if name != "next"} | {"status": "active"}
TRIAL = {
    "trial_id": "trl_1",
    "skill_name": "team:notes",
    "kind": "verification",
    "state": "pending",
    "definition_fingerprint": "f" * 64,
    "attempt": 1,
    "expected_output_contains": "OK",
    "cases": [],
    "actor": "ann",
    "created_at_ms": 1,
}
PASSED = {**TRIAL, "state": "passed", "ended_at_ms": 2}


def talking(*documents: Any) -> tuple[Client, list[httpx2.Request]]:
    handler, seen = answers(*(httpx2.Response(200, json=each) for each in documents))
    return client_of(handler)[0], seen


def sent(request: httpx2.Request) -> tuple[str, str, Any]:
    content = json.loads(request.content) if request.content else None
    return request.method, request.url.path, content


def test_what_changes_a_rollout_is_sent_under_keys() -> None:
    client, seen = talking(*[ROLLOUT] * 6, TRIAL)
    result = RolloutResult(kind=EvidenceKind.CANARY, run_id="run_1", expected_output_contains="OK")

    client.rollouts.promote("lrn_1", PromoteSkill(skill_name="team:notes", instructions="Write."))
    client.rollouts.result("team:notes", result)
    client.rollouts.hold("team:notes", reason="wait", key="mine")
    client.rollouts.release("team:notes")
    client.rollouts.revoke("team:notes")
    client.rollouts.rollback("team:notes")
    client.rollouts.trial("team:notes", StartTrial(expected_output_contains="OK"))

    one = f"{PATH}/team:notes"
    assert [sent(request) for request in seen] == [
        (
            "POST",
            "/v1/learnings/lrn_1/promote-skill",
            {"skill_name": "team:notes", "instructions": "Write."},
        ),
        (
            "POST",
            f"{one}/rollout-result",
            {"kind": "canary", "run_id": "run_1", "expected_output_contains": "OK"},
        ),
        ("POST", f"{one}/hold", {"reason": "wait"}),
        ("POST", f"{one}/release", {}),
        ("POST", f"{one}/revoke", {}),
        ("POST", f"{one}/rollback", {}),
        ("POST", f"{one}/trial", {"expected_output_contains": "OK"}),
    ]
    assert seen[2].headers["Idempotency-Key"] == "mine"
    assert len({request.headers["Idempotency-Key"] for request in seen}) == 7


def test_advancing_names_the_stage_and_nothing_of_the_definition() -> None:
    client, seen = talking(ROLLOUT, ROLLOUT)

    client.rollouts.advance("team:notes")
    client.rollouts.advance("team:notes", to=Stage.DRAFT)

    one = f"{PATH}/team:notes/advance"
    assert [sent(request) for request in seen] == [
        ("POST", one, {}),
        ("POST", one, {"to": "draft"}),
    ]


def test_lists_are_read_page_by_page() -> None:
    event = {"event": "promote", "recorded_at_ms": 1, "to_status": "draft", "actor": "ann"}
    snapshot = {
        **{name: SUMMARY[name] for name in ("description", "runtime", "definition_fingerprint")},
        "number": 1,
        "recorded_at_ms": 2,
        "status": "draft",
        "source_learning_id": "lrn_1",
        "instructions": "Write.",
        "attempt": 1,
        "promoted_at_ms": 1,
        "promoted_by": "ann",
        "is_demoted": False,
    }
    handler, seen = answers(
        *pages([SUMMARY], [SUMMARY]), *pages([event]), *pages([snapshot]), *pages([TRIAL], [PASSED])
    )
    client, _ = client_of(handler)

    assert len([*client.rollouts.list(status="verified")]) == 2
    assert [each.event for each in client.rollouts.events("n")] == ["promote"]
    assert [each.number for each in client.rollouts.history("n")] == [1]
    assert [each.state for each in client.rollouts.trials("n")] == ["pending", "passed"]
    assert dict(seen[1].url.params) == {"status": "verified", "cursor": "c0"}


def test_a_diff_names_only_what_was_said() -> None:
    diff = {
        "from_number": 1,
        "to_number": 3,
        "from_status": "draft",
        "to_status": "verified",
        "from_fingerprint": "e" * 64,
        "to_fingerprint": "f" * 64,
        "files": [],
    }
    client, seen = talking(diff, diff)

    client.rollouts.diff("n")
    client.rollouts.diff("n", 1, 3)

    assert [dict(request.url.params) for request in seen] == [{}, {"from": "1", "to": "3"}]


def test_a_trial_is_waited_for_until_it_is_over() -> None:
    handler, seen = answers(*(httpx2.Response(200, json=it) for it in (TRIAL, TRIAL, PASSED)))
    client, pauses = client_of(handler)

    assert client.rollouts.wait_trial("n", "trl_1").state == "passed"
    assert len(pauses) == 2
    assert {request.url.path for request in seen} == {f"{PATH}/n/trials/trl_1"}


def test_a_trial_that_takes_too_long_is_told() -> None:
    client, _ = talking(TRIAL)

    with pytest.raises(WaitTimeout, match="still pending"):
        client.rollouts.wait_trial("n", "trl_1", timeout_s=0)
