"""Automation as a stranger meets it: what the policy lets it do, and what keeps it from more."""

import time
from typing import Any

import psutil
import pytest

from tests.support.daemon import wait_for
from tests.support.learning_daemon import (
    EXTRACTION,
    JUDGE,
    POLICY,
    LearningDaemon,
    policy,
    rule,
    session_scope,
)
from understudy.testing.answers import Answer

pytestmark = pytest.mark.e2e

DAY_MS = 24 * 3600 * 1000
KEY = "sk-" + "proj-" + "Qx7Lm2Vb9Rt4Zp8K"


def proposed(learning_daemon: LearningDaemon, content: str, state: str, **fields: Any) -> Any:
    """A candidate once automation has brought it into a state."""
    return learning_daemon.reviewed(
        learning_daemon.propose(content, **fields)["candidate_id"], state
    )


def captured(
    learning_daemon: LearningDaemon, session: str, text: str, state: str | None = None
) -> Any:
    """The one candidate that the daemon finds in a run, once it was reviewed."""
    learning_daemon.session(session)
    learning_daemon.run(session, text)
    scope = {"scope_kind": "session", "scope_id": session}
    [found] = wait_for(lambda: learning_daemon.candidates(**scope), what="the candidate")
    return learning_daemon.reviewed(found["candidate_id"], state)


def published(learning_daemon: LearningDaemon, view: Any) -> Any:
    return learning_daemon.learning(view["published_learning_id"])


def test_in_shadow_automation_only_says_what_it_would_do(learning_daemon: LearningDaemon) -> None:
    default = proposed(learning_daemon, "The well is deep.", "pending")["automation_review"]
    learning_daemon.policy("shadow", rule("publish_active", kind="fact", name="facts"))
    would = proposed(learning_daemon, "The well is dry.", "pending")["automation_review"]

    assert (default["mode"], default["action"]) == ("shadow", "manual_review")
    assert default["reason"].strip()
    assert would["action"].startswith("publish_")
    assert would["matched_rule_name"] == "facts"
    assert (
        learning_daemon.learnings(status="active")
        == learning_daemon.learnings(status="provisional")
        == []
    )


def test_where_people_alone_decide_automation_does_not_look(
    learning_daemon: LearningDaemon,
) -> None:
    learning_daemon.policy("manual_only", rule("reject"))
    waiting = learning_daemon.propose("The well is deep.")["candidate_id"]
    time.sleep(1.5)

    view = learning_daemon.candidate(waiting)
    assert view["state"] == "pending"
    assert "automation_review" not in view


def test_enabled_automation_escalates_rejects_and_publishes(
    learning_daemon: LearningDaemon,
) -> None:
    learning_daemon.policy(
        "enabled",
        rule("reject", kind="preference"),
        rule("publish_provisional", kind="fact"),
    )

    escalated = proposed(learning_daemon, "We sail at dawn.", "escalated", kind="decision")
    proposed(learning_daemon, "Tea at four.", "rejected", kind="preference")
    learning = published(
        learning_daemon, proposed(learning_daemon, "The well is deep.", "published")
    )

    assert (learning["status"], learning["publish_tier"]) == ("provisional", "provisional")
    assert (learning["policy_decision"], learning["policy_actor"]) == ("automatic", "daemon")
    by_hand = learning_daemon.publish(escalated["candidate_id"])
    assert (by_hand["status"], by_hand["policy_decision"]) == ("active", "manual")


def test_the_first_rule_that_matches_and_is_not_in_quarantine_decides(
    learning_daemon: LearningDaemon,
) -> None:
    rules = (rule("reject", kind="fact", name="r1"), rule("publish_provisional", kind="fact"))

    learning_daemon.policy("enabled", *rules)
    first = proposed(learning_daemon, "The well is deep.", "rejected")
    learning_daemon.policy("enabled", *rules, quarantined_rule_names=[" R1 "])
    second = proposed(learning_daemon, "The well is dry.", "published")
    learning_daemon.policy(
        "enabled", rule("reject"), *rules, quarantined_rule_names=["r1", "reject"]
    )
    third = proposed(learning_daemon, "The well is old.", "rejected")

    assert first["automation_review"]["matched_rule_name"] == "r1"
    assert "matched_rule_name" not in second["automation_review"]
    assert "matched_rule_name" not in third["automation_review"]


def test_callers_cannot_vouch_for_themselves(learning_daemon: LearningDaemon) -> None:
    needs = ("require_evidence", "require_source_run", "require_source_session")
    learning_daemon.policy(
        "enabled",
        *(rule("publish_provisional", **{need: True}) for need in needs),
        capture={},
    )
    learning_daemon.session("vouched")
    run_id = learning_daemon.run("vouched", "The well is deep.")["run_id"]

    forged = proposed(
        learning_daemon,
        "The well is deep.",
        "escalated",
        source={"run_id": run_id, "session_id": "vouched"},
        evidence_refs=[{"run_id": run_id}],
    )
    own = captured(learning_daemon, "own", "Fact: The well is dry.", "published")

    assert forged["automation_review"]["action"] == "manual_review"
    assert own["origin"] == "daemon"


def test_what_callers_propose_without_evidence_never_becomes_active_by_itself(
    learning_daemon: LearningDaemon,
) -> None:
    active = rule("publish_active", kind="fact")
    learning_daemon.session("callers")

    learning_daemon.policy("enabled", active)
    downgraded = proposed(learning_daemon, "The well is deep.", "published")
    learning_daemon.policy("enabled", active, allow_api_origin_active_publication=True)
    unsupported = proposed(learning_daemon, "The roof is low.", "published")

    assert "API" in downgraded["automation_review"]["reason"]
    assert "evidence" in unsupported["automation_review"]["reason"]
    for view in (downgraded, unsupported):
        assert view["automation_review"]["action"] == "publish_provisional"
        learning = published(learning_daemon, view)
        assert (learning["status"], learning["verification_status"]) == (
            "provisional",
            "unverified",
        )
    assert learning_daemon.told("callers", "Is the well deep, and the roof low?") == []


def test_what_a_run_said_outright_becomes_active_and_its_replacement_unverified(
    learning_daemon: LearningDaemon,
) -> None:
    learning_daemon.policy("enabled", rule("publish_active", kind="preference"), capture={})

    view = captured(learning_daemon, "said", "Preference: Preferred editor is Helix", "published")
    learning = published(learning_daemon, view)

    assert (learning["status"], learning["verification_status"]) == ("active", "verified")
    assert (learning["policy_decision"], learning["policy_actor"]) == ("automatic", "daemon")
    assert learning_daemon.told("said", "editor?") == [learning["learning_id"]]
    lineage = learning_daemon.get(f"/v1/learnings/{learning['learning_id']}/lineage")
    assert lineage["source_run"]["run_id"] == view["source"]["run_id"]
    assert lineage["use_count"] == 1
    replacement = learning_daemon.supersede(learning["learning_id"], "Preferred editor is Vim")
    assert replacement["verification_status"] == "unverified"


def test_a_captured_request_verifies_what_a_caller_proposes_where_that_is_allowed(
    learning_daemon: LearningDaemon,
) -> None:
    learning_daemon.policy(
        "enabled", rule("publish_active", kind="fact"), allow_api_origin_active_publication=True
    )
    text = "The gate of the yard is green. What goes with it?"
    run = learning_daemon.run(learning_daemon.session("captured"), text, debug_level="full")
    run_id = run["run_id"]
    (capture,) = learning_daemon.get(f"/v1/runs/{run_id}/debug")["items"]

    proposed = learning_daemon.propose(
        "The gate of the yard is green",
        source={"run_id": run_id},
        evidence_refs=[{"run_id": run_id, "artifact_id": capture["artifact_id"]}],
    )

    view = learning_daemon.reviewed(proposed["candidate_id"], "published")
    learning = learning_daemon.learning(view["published_learning_id"])
    assert (learning["status"], learning["verification_status"]) == ("active", "verified")
    told = learning_daemon.told("captured", "Which colour has the gate of the yard?")
    assert told == [learning["learning_id"]]


def test_the_words_of_a_run_in_another_order_of_marks_support_it_and_others_do_not(
    learning_daemon: LearningDaemon,
) -> None:
    said = {
        "Preferred editor is Helix, as I said.": "The preferred editor: Helix",
        "I might go fishing on Sunday.": "Preferred shell is zsh",
    }
    learning_daemon.answer(EXTRACTION, lambda asked: _one(said.get(asked["request"], "")))
    learning_daemon.policy("enabled", rule("publish_active", kind="preference"), capture={})

    supported, unsupported = (
        captured(learning_daemon, f"support-{number}", text, "published")
        for number, text in enumerate(said)
    )

    first, second = published(learning_daemon, supported), published(learning_daemon, unsupported)
    assert (first["status"], first["verification_status"]) == ("active", "verified")
    assert (second["status"], second["verification_status"]) == ("provisional", "failed")
    assert "verification failed" in unsupported["automation_review"]["reason"]


def _one(content: str, kind: str = "preference") -> dict[str, Any]:
    return {"candidate_1": {"kind": kind, "content": content, "confidence": 90}}


def test_what_contradicts_a_learning_waits_for_a_person(learning_daemon: LearningDaemon) -> None:
    scope = session_scope("contradict")
    old = learning_daemon.learn("Preferred editor is Vim", kind="preference", scope=scope)
    learning_daemon.policy("enabled", rule("publish_active", kind="preference"), capture={})

    view = captured_among(learning_daemon, "contradict", "Preference: Preferred editor is Helix")

    assert view["state"] == "escalated"
    assert old["learning_id"] in view["automation_review"]["reason"]
    assert learning_daemon.learning(old["learning_id"])["status"] == "active"


def captured_among(learning_daemon: LearningDaemon, session: str, text: str) -> Any:
    """The candidate that the daemon finds in a run, where there are others already."""
    learning_daemon.session(session)
    run_id = learning_daemon.run(session, text)["run_id"]
    [found] = wait_for(lambda: learning_daemon.candidates(query=run_id), what="the candidate")
    return learning_daemon.reviewed(found["candidate_id"], "escalated")


def test_a_candidate_that_cannot_be_published_holds_nobody_up(
    learning_daemon: LearningDaemon,
) -> None:
    learning_daemon.learn("Codename is Atlas")
    learning_daemon.policy("enabled", rule("publish_provisional", kind="fact"))
    began = len(learning_daemon.daemon.log())

    stuck = proposed(learning_daemon, "Codename is Borealis", "escalated")
    busy = psutil.Process(learning_daemon.daemon.pid).cpu_times()
    time.sleep(0.7)
    after = psutil.Process(learning_daemon.daemon.pid).cpu_times()

    assert after.user + after.system - busy.user - busy.system < 0.35
    log = learning_daemon.daemon.log()[began:]
    assert log.count("error") <= 5
    assert log.count(stuck["candidate_id"]) <= 10
    assert proposed(learning_daemon, "The well is deep.", "published")["state"] == "published"


WRONG = (
    policy("enabled", default_action="publish_active"),
    policy("enabled", rule("publish_active")),
    policy("enabled", rule("publish_active", kind="procedure")),
    policy("enabled", quarantined_rule_names=["a", "A"]),
    policy("enabled", quarantined_rule_names=[""]),
    policy("enabled", capture={"max_candidates_per_run": 0}),
    policy("enabled", capture={"max_candidates_per_run": 9}),
    policy("enabled", capture={"timeout_ms": 0}),
    policy("enabled", judge={"timeout_ms": 0}),
    policy("enabled", rule("reject", min_confidence=101)),
    policy("enabled", rule("reject", scope_id=" ", scope_kind="session")),
    policy("enabled", {"kind": "fact"}),
    policy("enabled", rule("explode")),
    policy("sometimes"),
)


def test_a_policy_that_cannot_be_is_refused_and_the_old_one_stays(
    learning_daemon: LearningDaemon,
) -> None:
    before = learning_daemon.get(POLICY)

    problems = [learning_daemon.refused(POLICY, {"policy": wrong}) for wrong in WRONG]
    stale = learning_daemon.refused(
        POLICY, {"policy": policy("enabled"), "expected_revision": before["revision"] - 1}
    )
    empty = learning_daemon.refused(POLICY, {"expected_revision": before["revision"]})

    assert [(it["status"], it["code"], it["domain"]) for it in problems] == [
        (400, "invalid_learning_policy", "runtime")
    ] * len(WRONG)
    assert all(it["errors"][0]["pointer"].startswith("/policy") for it in problems)
    assert (stale["status"], stale["code"]) == (409, "runtime_revision_conflict")
    assert empty["status"] == 400
    assert learning_daemon.get(POLICY) == before


def test_a_procedure_is_never_active_without_a_person(learning_daemon: LearningDaemon) -> None:
    learning_daemon.policy("enabled", rule("publish_provisional"))

    view = proposed(
        learning_daemon, "To moor, throw the line first.", "published", kind="procedure"
    )

    assert published(learning_daemon, view)["status"] == "provisional"


def test_limits_of_rules_count_to_the_point(learning_daemon: LearningDaemon) -> None:
    # A judge takes its time, and what is published lasts from when it was reviewed.
    said = '{"action": "publish_provisional", "reason": "fine"}'
    learning_daemon.answer(JUDGE, lambda _: Answer(text=said, delay_s=0.1))
    lasting = rule("publish_provisional", min_confidence=95, expires_after_ms=DAY_MS)
    learning_daemon.policy("enabled", lasting, judge={})
    now = int(time.time() * 1000)

    proposed(learning_daemon, "The tide is high.", "escalated", confidence=94)
    sure = proposed(learning_daemon, "The tide is low.", "published", confidence=95)
    late = proposed(
        learning_daemon, "Sun is up.", "published", confidence=99, expires_at_ms=now + 2 * DAY_MS
    )
    soon = now + DAY_MS // 2
    early = proposed(learning_daemon, "Moon is up.", "published", confidence=99, expires_at_ms=soon)

    for view in (sure, late):
        at = view["automation_review"]["reviewed_at_ms"]
        assert published(learning_daemon, view)["expires_at_ms"] == at + DAY_MS
    assert published(learning_daemon, early)["expires_at_ms"] == soon


@pytest.mark.parametrize(
    ("action", "said", "state", "becomes"),
    [
        ("publish_provisional", "publish_active", "published", "publish_provisional"),
        ("publish_provisional", "reject", "rejected", "reject"),
        ("reject", "publish_provisional", "escalated", "manual_review"),
        ("publish_active", "reject", "rejected", "reject"),
        ("publish_active", "manual_review", "escalated", "manual_review"),
    ],
)
def test_a_judge_may_only_be_stricter_than_the_policy(
    learning_daemon: LearningDaemon, action: str, said: str, state: str, becomes: str
) -> None:
    learning_daemon.answer(JUDGE, lambda _: {"action": said, "reason": "two\nlines " + "w" * 900})
    learning_daemon.policy(
        "enabled",
        rule(action, kind="fact", name="judged"),
        judge={},
        allow_api_origin_active_publication=True,
    )

    view = proposed(learning_daemon, "The well is deep.", state)

    review = view["automation_review"]
    assert (review["action"], review["judge"]["action"]) == (becomes, becomes)
    assert len(review["judge"]["reason"]) <= 400
    assert "\n" not in review["judge"]["reason"]
    [asked] = learning_daemon.asked(JUDGE)
    assert asked["candidate"]["content"] == "The well is deep."
    assert asked["baseline"]["action"] == action
    assert (asked["baseline"]["mode"], asked["baseline"]["matched_rule_name"]) == (
        "enabled",
        "judged",
    )
    assert ("publish_active" in asked["allowed_actions"]) == (action == "publish_active")
    assert {"reject", "manual_review"} <= set(asked["allowed_actions"])
    if state == "published":
        assert published(learning_daemon, view)["status"] == "provisional"


def test_no_judge_is_asked_where_a_person_decides_anyway(learning_daemon: LearningDaemon) -> None:
    learning_daemon.answer(JUDGE, lambda _: {"action": "reject", "reason": "never asked"})
    learning_daemon.policy("enabled", judge={})

    view = proposed(learning_daemon, "The well is deep.", "escalated")

    assert "judge" not in view["automation_review"]
    assert learning_daemon.asked(JUDGE) == []


@pytest.mark.parametrize(
    "answer",
    [
        Answer(text='{"action": "publish_provisional"}', delay_s=3),
        Answer(text="I would publish it."),
        Answer(text='{"action": "applaud", "reason": "fine"}'),
        Answer(status=400),
    ],
    ids=["late", "junk", "unknown", "error"],
)
def test_without_a_clear_verdict_a_person_decides(
    learning_daemon: LearningDaemon, answer: Answer
) -> None:
    learning_daemon.answer(JUDGE, lambda _: answer)
    published_by = rule("publish_provisional", kind="fact")

    learning_daemon.policy("shadow", published_by, judge={"timeout_ms": 300})
    shadow = proposed(learning_daemon, "The well is deep.", "pending")["automation_review"]
    learning_daemon.policy("enabled", published_by, judge={"timeout_ms": 300})
    enabled = proposed(learning_daemon, "The well is dry.", "escalated")["automation_review"]

    assert (shadow["action"], shadow["judge"]["action"]) == ("publish_provisional", "manual_review")
    assert (enabled["action"], enabled["judge"]["action"]) == ("manual_review", "manual_review")
    assert enabled["judge"]["reason"]
    assert (
        learning_daemon.learnings(status="provisional")
        == learning_daemon.learnings(status="active")
        == []
    )


def test_a_policy_judges_each_candidate_once_and_comes_back_without_asking(
    learning_daemon: LearningDaemon,
) -> None:
    learning_daemon.answer(JUDGE, lambda _: {"action": "publish_provisional", "reason": "fine"})
    judged = {"judge": {"timeout_ms": 5000}}
    first = learning_daemon.policy("shadow", rule("publish_provisional"), **judged)
    seen = proposed(learning_daemon, "The well is deep.", "pending")["candidate_id"]

    learning_daemon.policy("shadow", rule("reject", kind="decision"))
    learning_daemon.post(f"{POLICY}/rollback", {"target_revision": first["revision"]})
    wait_for(
        lambda: (
            learning_daemon.reviewed(seen)["automation_review"]["action"] == "publish_provisional"
        ),
        what="the old review",
    )
    later = proposed(learning_daemon, "The well is dry.", "pending")["candidate_id"]

    assert len(learning_daemon.asked(JUDGE, seen)) == 1
    assert len(learning_daemon.asked(JUDGE, later)) == 1


def test_a_policy_without_a_mode_is_a_shadow(learning_daemon: LearningDaemon) -> None:
    answer = learning_daemon.post(POLICY, {"policy": {"publication": {"rules": [rule("reject")]}}})

    assert answer["policy"]["mode"] == "shadow"
    assert (
        proposed(learning_daemon, "The well is deep.", "pending")["automation_review"]["action"]
        == "reject"
    )
    flat = learning_daemon.post(
        POLICY, {"mode": "manual_only", "expected_revision": answer["revision"]}
    )
    assert flat["policy"]["mode"] == "manual_only"


def test_a_secret_is_rejected_before_any_rule_is_asked(learning_daemon: LearningDaemon) -> None:
    learning_daemon.policy("manual_only")
    waiting = learning_daemon.propose("The well is deep.")["candidate_id"]
    # Nobody gets a secret past the guard, so it is written into the record.
    learning_daemon.edit(waiting, origin="daemon", body__content=f"The API key is {KEY}")

    learning_daemon.policy("enabled", rule("publish_provisional", name="all"))

    review = learning_daemon.reviewed(waiting, "rejected")["automation_review"]
    assert review["action"] == "reject"
    assert "secret" in review["reason"]
    assert "matched_rule_name" not in review
    assert KEY not in str(review)
    assert learning_daemon.learnings(status="provisional") == []
    assert KEY not in learning_daemon.daemon.log()
