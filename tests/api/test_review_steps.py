"""The queue of review over HTTP: its order, decisions of two people, steps back."""

import pytest
from starlette.testclient import TestClient

from tests.api.test_learning_candidates import PATH, propose, publish
from tests.api.test_resources import ok, refused


def test_what_waits_is_listed_in_the_order_of_review(api: TestClient) -> None:
    procedure = propose(api, "Do this", kind="procedure")
    fact, other = propose(api, "X is blue"), propose(api, "Y is red")
    ok(api, "POST", f"{PATH}/{other}/reject")

    waiting = ok(api, "GET", f"{PATH}?waiting=true")["items"]
    everything = ok(api, "GET", PATH)["items"]

    assert [it["candidate_id"] for it in waiting] == [fact, procedure]
    assert [it["candidate_id"] for it in everything] == [procedure, fact, other]
    narrowed = ok(api, "GET", f"{PATH}/next?kind=procedure")
    assert (narrowed["item"]["candidate_id"], narrowed["following"]) == (procedure, 0)


def test_a_decision_about_a_version_is_not_answered_with_that_of_another(api: TestClient) -> None:
    first, second = propose(api), propose(api, "Y is red")
    ok(api, "POST", f"{PATH}/{first}/publish", {"version": 1})
    ok(api, "POST", f"{PATH}/{second}/reject", {"version": 1})

    for verb in ("publish", "reject"):
        code = refused(api, "POST", f"{PATH}/{first}/{verb}", {"version": 1})
        assert code == (409, "learnings/candidate_published")
        code = refused(api, "POST", f"{PATH}/{second}/{verb}", {"version": 1})
        assert code == (409, "learnings/candidate_rejected")


def test_a_decision_is_taken_back_and_a_candidate_put_off(api: TestClient) -> None:
    candidate_id = propose(api)
    learning = publish(api, candidate_id)

    waiting = ok(api, "POST", f"{PATH}/{candidate_id}/reopen", {"reason": "a slip"})

    assert (waiting["state"], waiting["version"]) == ("pending", 3)
    assert waiting["undone_learning_ids"] == [learning["learning_id"]]
    assert "decided_by" not in waiting
    revoked = ok(api, "GET", f"/v1/learnings/{learning['learning_id']}")
    assert (revoked["status"], revoked["revoked_reason"]) == ("revoked", "a slip")
    until = revoked["undone_at_ms"] + 3_600_000
    asleep = ok(api, "POST", f"{PATH}/{candidate_id}/snooze", {"until_ms": until})
    assert asleep["snoozed_until_ms"] == until
    assert ok(api, "GET", f"{PATH}/next") == {"item": None, "snoozed": 1}
    assert len(ok(api, "GET", f"{PATH}?waiting=true")["items"]) == 1
    for wrong in ({}, {"until_ms": -1}, {"until_ms": "soon"}, {"until_ms": 2**60}):
        assert refused(api, "POST", f"{PATH}/{candidate_id}/snooze", wrong)[0] == 400
    secret = {"reason": "api-key: abc" + "123456789"}
    assert refused(api, "POST", f"{PATH}/{candidate_id}/reopen", secret)[0] == 400
    for verb in ("reopen", "snooze"):
        code = refused(
            api, "POST", f"{PATH}/cand_none/{verb}", {"until_ms": 1} if verb[0] == "s" else {}
        )
        assert code == (404, "learnings/candidate_not_found")


@pytest.mark.parametrize(
    ("language", "words"),
    [
        (None, "injected in every session of this daemon"),
        ("vi-VN", "được nhắc đến trong mọi phiên của daemon này"),
        ("zh", "在此守护进程的所有会话中告知"),
    ],
)
def test_the_reach_is_told_in_the_language_of_the_caller(
    api: TestClient, language: str | None, words: str
) -> None:
    candidate_id = propose(api)
    headers = {"Accept-Language": language} if language else {}
    item = api.get(f"{PATH}/{candidate_id}", headers=headers).json()
    assert [it["words"] for it in item["reaches"]] == [words]
