"""Candidates, publication and conflicts as a stranger meets them: what is kept, refused, replaced."""

from typing import Any

import pytest

from tests.support.daemon import wait_for
from tests.support.learning_daemon import (
    CANDIDATES,
    LEARNINGS,
    WORKSPACE,
    LearningDaemon,
    candidate,
    rule,
    session_scope,
    soon,
)

pytestmark = pytest.mark.e2e

# Put together here, so that nobody takes them for keys of somebody's.
HUNTER = "hunter2" * 2
GITHUB = "ghp_" + "1234567890"
OPENAI = "sk-" + "proj-secret"
GOOGLE = "AIzaSy" + "D4x8Kq2Lm9Tz7Vw1Rb5Nc3Hf6Jp0Gs_8Ya"
SECRETS = (
    "api-key: abc123456789",
    "x-api-key: abc123456789",
    f"clientSecret: {HUNTER}",
    f'{{"clientSecret":"{HUNTER}"}}',
    "secret_token=abc123456789",
    f"personal access token = {GITHUB}",
    f"pat: {GITHUB}",
    f"The API key is {OPENAI}.",
    "Access token is <redacted>.",
    "PRIVATE_KEY: -----BEGIN " + "PRIVATE KEY-----",
    f"Gateway key {GOOGLE}",
    f"db postgres://u:{'hunter' + '2'}@h/db",
)
HARMLESS = (
    "Token budget is 1000.",
    "Pat prefers concise reports.",
    "The client secretariat prefers written updates.",
    "The private roadmap is still draft.",
    "Authentication strategy is still undecided.",
    "Cookie preference: oatmeal",
    "Password policy: rotate every 90 days",
    "Compat: Windows 11",
    "The API token is rotated weekly",
)


def test_what_a_caller_leaves_out_takes_its_default(learning_daemon: LearningDaemon) -> None:
    found = learning_daemon.propose("X is blue")
    learning = learning_daemon.publish(found["candidate_id"])

    assert found["candidate_id"].startswith("cand_")
    assert (found["origin"], found["sensitivity"], found["confidence"]) == ("api", "scoped", 80)
    assert (found["state"], found["source"], found["evidence_refs"]) == ("pending", {}, [])
    assert (found["scope"], found["kind"], found["content"]) == (WORKSPACE, "fact", "X is blue")
    assert learning["learning_id"].startswith("lrn_")
    assert (learning["status"], learning["publish_tier"]) == ("active", "active")
    assert (learning["policy_decision"], learning["policy_actor"]) == ("manual", "operator")
    assert learning["verification_status"] == "unverified"
    assert learning["source_candidate_id"] == found["candidate_id"]
    decided = learning_daemon.candidate(found["candidate_id"])
    assert decided["state"] == "published"
    assert decided["published_learning_id"] == learning["learning_id"]
    beside = ("contradicts", "neighbours", "reach")
    assert learning_daemon.learnings(status="active") == [
        {name: value for name, value in learning.items() if name not in beside}
    ]


@pytest.mark.parametrize(
    "changes",
    [
        {"scope": {"kind": "workspace", "id": "foo"}},
        {"scope": {"kind": "session", "id": " "}},
        {"scope": {"kind": "session", "id": ""}},
        {"scope": {"kind": "session", "id": " s1"}},
        {"scope": {"kind": "galaxy", "id": "s1"}},
        {"content": "x" * 1601},
        {"content": "  \n "},
        {"confidence": 101},
        {"confidence": -1},
        {"kind": "run_summary"},
        {"kind": "rumour"},
        {"sensitivity": "secret"},
    ],
    ids=str,
)
def test_what_a_candidate_may_not_be_is_the_callers_mistake(
    learning_daemon: LearningDaemon, changes: dict[str, Any]
) -> None:
    problem = learning_daemon.refused(CANDIDATES, candidate("X is blue") | changes)

    assert problem["status"] == 400
    assert learning_daemon.candidates(state="pending") == []


def test_contents_and_confidences_may_go_to_their_limits(learning_daemon: LearningDaemon) -> None:
    kept = [
        learning_daemon.propose("x" * 1600),
        learning_daemon.propose("sure", confidence=100),
        learning_daemon.propose("unsure", confidence=0),
    ]

    assert len(kept[0]["content"]) == 1600
    assert [it["confidence"] for it in kept[1:]] == [100, 0]


def test_a_list_is_narrowed_by_a_whole_scope_or_not_at_all(learning_daemon: LearningDaemon) -> None:
    inside = learning_daemon.propose("The gate is green.", scope=session_scope("narrow"))
    outside = learning_daemon.propose("The gate is red.")

    for path in (CANDIDATES, LEARNINGS):
        for params in ("scope_id=narrow", "scope_kind=session", "scope_kind=project&scope_id="):
            assert learning_daemon.refused(f"{path}?{params}", method="GET")["status"] == 400
    [found] = learning_daemon.candidates(scope_kind="workspace", state="pending")
    assert found["candidate_id"] == outside["candidate_id"]
    narrow = learning_daemon.candidates(scope_kind="session", scope_id="narrow", state="pending")
    assert [it["candidate_id"] for it in narrow] == [inside["candidate_id"]]
    both = [
        it["candidate_id"] for it in learning_daemon.candidates(query="GATE IS", state="pending")
    ]
    assert both == sorted([inside["candidate_id"], outside["candidate_id"]])


def test_what_is_provisional_takes_nobodys_place(learning_daemon: LearningDaemon) -> None:
    there = learning_daemon.learn("Project codename is Atlas.")
    other = learning_daemon.propose("Project codename is Borealis.")

    path = f"{CANDIDATES}/{other['candidate_id']}/publish"
    wanted = {"supersedes": there["learning_id"], "publish_tier": "provisional"}

    assert learning_daemon.refused(path, wanted)["status"] in {400, 409}
    assert learning_daemon.learning(there["learning_id"])["status"] == "active"
    assert learning_daemon.candidate(other["candidate_id"])["state"] == "pending"
    assert len(learning_daemon.learnings(status="provisional")) == 0


@pytest.mark.parametrize("secret", SECRETS, ids=range(len(SECRETS)))
def test_secrets_are_neither_proposed_nor_published_nor_put_in_place_of_others(
    learning_daemon: LearningDaemon, secret: str
) -> None:
    there = learning_daemon.learn("The mast is made of steel.")
    waiting = learning_daemon.propose("The sail is made of hemp.")["candidate_id"]

    problems = [
        learning_daemon.refused(CANDIDATES, candidate(secret)),
        learning_daemon.refused(CANDIDATES, candidate(secret, kind="procedure")),
        learning_daemon.refused(f"{CANDIDATES}/{waiting}/publish", {"content": secret}),
        learning_daemon.refused(
            f"{LEARNINGS}/{there['learning_id']}/supersede", {"content": secret}
        ),
        learning_daemon.refused(f"{LEARNINGS}/{there['learning_id']}/revoke", {"reason": secret}),
    ]

    assert {problem["status"] for problem in problems} == {400}
    assert not any(secret in str(problem) for problem in problems)
    assert [it["candidate_id"] for it in learning_daemon.candidates(state="pending")] == [waiting]
    assert [it["learning_id"] for it in learning_daemon.learnings(status="active")] == [
        there["learning_id"]
    ]
    files = [path for path in learning_daemon.daemon.home.glob("understudy.db*") if path.is_file()]
    assert not any(secret.encode() in path.read_bytes() for path in files)
    assert secret not in learning_daemon.daemon.log()


def test_what_only_sounds_like_a_secret_is_learned(learning_daemon: LearningDaemon) -> None:
    learned = [learning_daemon.learn(text)["content"] for text in HARMLESS]

    assert learned == list(HARMLESS)


@pytest.mark.parametrize(
    ("said", "again"),
    [
        (
            "Project codename is Atlas.",
            ["project codename: atlas", "The project codename = ATLAS;"],
        ),
        ("Thủ đô là Hà Nội", ["Thủ đô: Hà Nội", "thủ đô = hà nội"]),
        ("项目代号是阿特拉斯", ["项目代号：阿特拉斯", "项目代号＝阿特拉斯"]),
    ],
)
def test_the_same_thing_in_other_words_is_learned_once(
    learning_daemon: LearningDaemon, said: str, again: list[str]
) -> None:
    first = learning_daemon.learn(said)["learning_id"]

    for text in again:
        repeated = learning_daemon.propose(text)["candidate_id"]
        assert learning_daemon.publish(repeated)["learning_id"] == first
        assert learning_daemon.candidate(repeated)["published_learning_id"] == first
    assert [it["learning_id"] for it in learning_daemon.learnings(status="active")] == [first]


def test_another_value_needs_to_say_what_it_replaces(learning_daemon: LearningDaemon) -> None:
    session = learning_daemon.session("conflict")
    first = learning_daemon.learn("Project codename is Atlas.")["learning_id"]
    other = learning_daemon.propose("Project codename is Borealis.")["candidate_id"]

    problem = learning_daemon.refused(f"{CANDIDATES}/{other}/publish", {})

    assert problem["status"] == 409
    assert learning_daemon.candidate(other)["state"] == "pending"
    assert learning_daemon.candidate(other)["conflicts_with"]["learning_id"] == first
    second = learning_daemon.publish(other, supersedes=first)
    replaced = learning_daemon.learning(first)
    assert (second["status"], second["supersedes"]) == ("active", first)
    assert (replaced["status"], replaced["superseded_by"]) == (
        "superseded",
        second["learning_id"],
    )
    assert learning_daemon.told(session, "What is the project codename?") == [second["learning_id"]]
    assert "Borealis" in learning_daemon.section()[0][1]


def test_another_kind_or_scope_or_an_end_is_no_conflict(learning_daemon: LearningDaemon) -> None:
    other = "Project codename is Borealis."

    learning_daemon.learn("Project codename is Atlas.")
    as_preference = learning_daemon.learn(other, kind="preference")
    elsewhere = learning_daemon.learn(other, scope=session_scope("apart"))
    assert (as_preference["status"], elsewhere["status"]) == ("active", "active")
    assert [it["content"] for it in elsewhere["contradicts"]] == ["Project codename is Atlas."]

    revoked = learning_daemon.learn("Ship name is Argo.")["learning_id"]
    learning_daemon.revoke(revoked)
    assert learning_daemon.learn("Ship name is Beagle.")["status"] == "active"

    learning_daemon.learn("Port name is Brest.", sensitivity="sensitive")
    assert learning_daemon.learn("Port name is Calais.")["status"] == "active"

    ended = learning_daemon.learn("Crew size is twelve.")
    bigger = learning_daemon.propose("Crew size is forty.")["candidate_id"]
    assert learning_daemon.refused(f"{CANDIDATES}/{bigger}/publish", {})["status"] == 409
    wait_for(lambda: _ends_soon(learning_daemon, ended["learning_id"]), what="an end to come")
    answers = wait_for(lambda: _published(learning_daemon, bigger), what="the end of the first")
    assert answers["status"] == "active"
    assert learning_daemon.learning(ended["learning_id"])["status"] == "active"


def _ends_soon(learning_daemon: LearningDaemon, learning_id: str) -> bool:
    """Whether the learning got an end, which on a busy machine may be over when it arrives."""
    body = {"expires_at_ms": soon()}
    return learning_daemon.call("PUT", f"{LEARNINGS}/{learning_id}", body).is_success


def _published(learning_daemon: LearningDaemon, candidate_id: str) -> Any:
    answer = learning_daemon.call("POST", f"{CANDIDATES}/{candidate_id}/publish", {})
    return answer.json() if answer.is_success else None


def test_a_learning_is_replaced_once_and_in_its_own_scope(learning_daemon: LearningDaemon) -> None:
    first = learning_daemon.learn("Project codename is Atlas.")
    path = f"{LEARNINGS}/{first['learning_id']}/supersede"
    new = {"content": "Project codename is Cygnus."}

    assert learning_daemon.refused(path, new | {"scope": session_scope("apart")})["status"] == 409
    second, again = learning_daemon.post(path, new), learning_daemon.post(path, new)

    assert second["learning_id"] == again["learning_id"]
    assert (second["status"], second["publish_tier"]) == ("active", "active")
    assert (second["policy_decision"], second["policy_actor"]) == ("manual", "operator")
    assert second["created_at_ms"] == first["created_at_ms"]
    assert learning_daemon.learning(first["learning_id"])["superseded_by"] == second["learning_id"]
    assert [it["learning_id"] for it in learning_daemon.learnings(status="active")] == [
        second["learning_id"]
    ]
    learning_daemon.revoke(second["learning_id"])
    later = f"{LEARNINGS}/{second['learning_id']}/supersede"
    assert (
        learning_daemon.refused(later, {"content": "Project codename is Draco."})["status"] == 409
    )


def test_a_decision_stands_however_often_it_is_made(learning_daemon: LearningDaemon) -> None:
    yes = learning_daemon.propose("The hull is oak.")["candidate_id"]
    no = learning_daemon.propose("The hull is elm.")["candidate_id"]

    learnings = {learning_daemon.publish(yes)["learning_id"] for _ in range(2)}
    rejected = [learning_daemon.post(f"{CANDIDATES}/{no}/reject") for _ in range(2)]

    assert len(learnings) == 1
    assert rejected[0] == rejected[1]
    assert rejected[0]["state"] == "rejected"
    assert learning_daemon.refused(f"{CANDIDATES}/{no}/publish", {})["status"] == 409
    assert learning_daemon.refused(f"{CANDIDATES}/{yes}/reject", {})["status"] == 409
    for missing in ("publish", "reject"):
        assert learning_daemon.refused(f"{CANDIDATES}/cand_none/{missing}", {})["status"] == 404


def test_what_is_revoked_stays_revoked_and_is_told_no_more(learning_daemon: LearningDaemon) -> None:
    session = learning_daemon.session("revoked")
    learning_id = learning_daemon.learn("The beacon is amber.")["learning_id"]
    assert learning_daemon.told(session, "Which beacon?") == [learning_id]

    secret = {"reason": f"api-key: {'sk-' + 'proj-x1'}"}
    assert learning_daemon.refused(f"{LEARNINGS}/{learning_id}/revoke", secret)["status"] == 400
    assert learning_daemon.learning(learning_id)["status"] == "active"
    first = learning_daemon.revoke(learning_id, "it was repainted")

    assert (first["status"], first["revoked_reason"]) == ("revoked", "it was repainted")
    assert first["revoked_at_ms"] >= first["published_at_ms"]
    assert learning_daemon.revoke(learning_id, "said again") == first
    assert learning_daemon.told(session, "Which beacon now?") == []
    blank = learning_daemon.revoke(learning_daemon.learn("The buoy is red.")["learning_id"], "  ")
    assert "revoked_reason" not in blank


def test_the_time_of_day_is_nothing_to_speak_of(learning_daemon: LearningDaemon) -> None:
    for text in ("Office hours 09:00 to 17:00 in Paris", "Office hours 09:30 to 18:00 in Lyon"):
        assert learning_daemon.learn(text)["status"] == "active"
    assert len(learning_daemon.learnings(status="active")) == 2

    learning_daemon.learn("Standup is at 10:30")
    later = learning_daemon.propose("Standup is at 10:45")["candidate_id"]
    assert learning_daemon.refused(f"{CANDIDATES}/{later}/publish", {})["status"] == 409


def test_many_are_revoked_only_by_what_they_have_in_common(learning_daemon: LearningDaemon) -> None:
    path = f"{LEARNINGS}/revoke-matching"
    by_hand = learning_daemon.learn("Berth 4 is free.")["learning_id"]
    learning_daemon.policy("enabled", rule("publish_provisional", name="r1"))
    by_rule = [learning_daemon.propose(f"Berth {number} is taken.") for number in "123"]
    published = {
        learning_daemon.reviewed(it["candidate_id"], "published")["published_learning_id"]
        for it in by_rule
    }
    wanted = {"policy_actor": "daemon", "matched_rule_name": "R1"}

    for nothing in ({}, {"reason": "no filter"}, {"dry_run": True}, {"query": " "}):
        assert learning_daemon.refused(path, nothing)["status"] in {400, 409}
    preview = learning_daemon.post(path, wanted | {"dry_run": True})

    assert {it["learning_id"] for it in preview["items"]} == published
    assert {it["status"] for it in preview["items"]} == {"provisional"}
    assert len(learning_daemon.learnings(status="provisional")) == 3
    assert learning_daemon.post(path, wanted | {"reason": "bad rule"})["count"] == 3
    assert {learning_daemon.learning(it)["revoked_reason"] for it in published} == {"bad rule"}
    assert learning_daemon.learning(by_hand)["status"] == "active"


def test_a_replacement_counts_although_what_it_replaces_was_never_told(
    learning_daemon: LearningDaemon,
) -> None:
    session = learning_daemon.session("half-done")
    first = learning_daemon.learn("Project codename is Atlas.")["learning_id"]
    second = learning_daemon.supersede(first, "Project codename is Borealis.")["learning_id"]
    learning_daemon.edit(first, status="active", is_live=1, is_active=1, body__superseded_by=None)
    assert learning_daemon.learning(first)["status"] == "active"

    assert learning_daemon.told(session, "What is the project codename?") == [second]
    assert learning_daemon.in_context(session) == [second]
    found = [it["source_id"] for it in learning_daemon.search(session, "codename")["results"]]
    assert (first in found, second in found) == (False, True)
    again = learning_daemon.supersede(first, "Project codename is Cygnus.")
    assert (again["learning_id"], again["content"]) == (second, "Project codename is Borealis.")
    mended = learning_daemon.learning(first)
    assert (mended["status"], mended["superseded_by"]) == ("superseded", second)
