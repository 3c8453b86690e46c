"""The inbox over HTTP and on the command line."""

from starlette.testclient import TestClient

from tests.api.test_learning_candidates import PATH, propose
from tests.api.test_resources import ok, refused

NOTHING = {
    "approval": 0,
    "question": 0,
    "second_approval": 0,
    "soul_proposal": 0,
    "skill_draft": 0,
    "rollout_step": 0,
    "candidate": 0,
}


def test_an_empty_inbox_counts_every_kind(api: TestClient) -> None:
    assert ok(api, "GET", "/v1/inbox") == {"items": [], "next_cursor": None, "counts": NOTHING}


def test_what_waits_names_itself_and_what_can_be_decided(api: TestClient) -> None:
    candidate_id = propose(api, "X is blue")

    answer = ok(api, "GET", "/v1/inbox?kind=candidate")

    assert answer["counts"] == {**NOTHING, "candidate": 1}
    (item,) = answer["items"]
    assert item == {
        "kind": "candidate",
        "id": candidate_id,
        "title": "X is blue",
        "created_at_ms": item["created_at_ms"],
        "tags": ["fact", "workspace"],
        "version": 1,
        "actions": ["publish", "reject", "snooze"],
    }
    ok(api, "POST", f"{PATH}/{candidate_id}/reject", {"version": item["version"]})
    assert ok(api, "GET", "/v1/inbox")["counts"] == NOTHING


def test_an_unknown_kind_is_refused(api: TestClient) -> None:
    assert refused(api, "GET", "/v1/inbox?kind=letters")[0] == 400
