"""What is learned while runs go on: reviewed, told to a run, traced, watched, taken back."""

from typing import Any

import pytest

from tests.api.live import Live
from tests.support.daemon import wait_for

CANDIDATES = "/v1/learning-candidates"
POLICY = "/v1/runtime/learning-policy"
WORKSPACE = {"kind": "workspace", "id": "default"}


@pytest.fixture(autouse=True)
def shadow(live: Live) -> None:
    """Every test begins under the default policy."""
    live.ok("POST", POLICY, {"mode": "shadow"})


def propose(live: Live, content: str, **changes: Any) -> str:
    body = {"scope": WORKSPACE, "kind": "fact", "content": content, **changes}
    candidate_id: str = live.ok("POST", CANDIDATES, body)["candidate_id"]
    return candidate_id


def reviewed(live: Live, candidate_id: str, state: str) -> dict[str, Any]:
    def done() -> dict[str, Any] | None:
        view: dict[str, Any] = live.ok("GET", f"{CANDIDATES}/{candidate_id}")
        return view if "automation_review" in view and view["state"] == state else None

    return wait_for(done, 20, what=f"{candidate_id} to be {state}")


def counted(live: Live) -> int:
    metrics = live.ok("GET", "/v1/status")["learning"]["metrics"]
    reviews: int = metrics["reviews_total"]["manual_review"]
    return reviews


def test_by_default_automation_looks_and_leaves_the_decision_to_people(live: Live) -> None:
    view = reviewed(live, propose(live, "The roof is made of slate."), "pending")

    review = view["automation_review"]
    assert (review["mode"], review["action"]) == ("shadow", "manual_review")
    assert review["reason"]
    assert "judge" not in review
    wait_for(lambda: counted(live) > 0, 5, what="the review to be counted")


def test_where_it_is_enabled_the_policy_decides(live: Live) -> None:
    rules = [
        {"name": "no tea", "kind": "preference", "action": "reject"},
        {"name": "walls", "kind": "fact", "min_confidence": 97, "action": "publish_active"},
    ]
    policy = {"mode": "enabled", "publication": {"rules": rules}}
    live.ok("POST", POLICY, {"policy": policy})

    rejected = reviewed(live, propose(live, "Tea at four.", kind="preference"), "rejected")
    sure = propose(live, "The wall is made of brick.", confidence=97)
    published = reviewed(live, sure, "published")
    escalated = reviewed(live, propose(live, "We move to Lyon.", kind="decision"), "escalated")

    assert rejected["automation_review"]["matched_rule_name"] == "no tea"
    assert rejected["decided_by"] == "daemon"
    learning = live.ok("GET", f"/v1/learnings/{published['published_learning_id']}")
    assert (learning["status"], learning["policy_decision"]) == ("provisional", "automatic")
    assert learning["policy_actor"] == "daemon"
    by_hand = live.ok("POST", f"{CANDIDATES}/{escalated['candidate_id']}/publish", {})
    assert (by_hand["status"], by_hand["policy_decision"]) == ("active", "manual")
    found = live.ok("GET", "/v1/learnings?matched_rule_name=WALLS")["items"]
    assert [it["learning_id"] for it in found] == [learning["learning_id"]]


def test_a_run_is_told_and_the_learning_knows_which(live: Live) -> None:
    live.session("reader")
    learning = live.ok(
        "POST", f"{CANDIDATES}/{propose(live, 'The ferry codename is Halcyon.')}/publish", {}
    )
    path = f"/v1/learnings/{learning['learning_id']}"

    run = live.run("reader", "What is the ferry codename?")
    told = str(live.model.requests[-1].body)
    live.ok("POST", f"{path}/revoke", {"reason": "renamed"})
    live.run("reader", "And what is the ferry codename now?")
    after = str(live.model.requests[-1].body)

    assert "Halcyon" in told
    assert learning["learning_id"] in told
    assert "Halcyon" not in after
    lineage = live.ok("GET", f"{path}/lineage")
    assert lineage["use_count"] == 1
    (use,) = lineage["uses"]["items"]
    assert (use["run_id"], use["session_id"], use["learning_version"]) == (
        run["run_id"],
        "reader",
        1,
    )


def test_whoever_watches_a_session_hears_of_its_learnings(live: Live) -> None:
    live.session("watched")
    scope = {"kind": "session", "id": "watched"}

    with live.stream("/v1/sessions/watched/stream") as events:
        candidate_id = propose(live, "The door is painted red.", scope=scope)
        live.ok("POST", f"{CANDIDATES}/{candidate_id}/publish", {})
        heard = [next(events) for _ in range(3)]

    assert {event.name for event in heard} == {"learning_updated"}
    assert [event.data["event"]["what"] for event in heard] == [
        "candidate_created",
        "learning_published",
        "candidate_decided",
    ]
    assert heard[0].data["event"]["candidate_id"] == candidate_id
    assert "painted" not in str([event.data for event in heard])
