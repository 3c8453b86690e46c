"""The lab: every part of the product on a text that nobody stores."""

from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.api.conftest import ADMIN
from tests.api.test_learning_candidates import learn
from tests.api.test_resources import ok

KEY = "sk-" + "proj-" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6"


def inspect(api: TestClient, text: str, **more: Any) -> Any:
    return ok(api, "POST", "/v1/lab/inspect", {"text": text, **more})


def test_a_secret_is_redacted_and_reaches_no_policy(api: TestClient) -> None:
    report = inspect(api, f"The key is {KEY}")

    assert KEY not in report["redaction"]["text"]
    assert report["redaction"]["secrets"] == 1
    assert report["statement"]["accepted"] is False
    assert "policy" not in report


def test_the_guard_names_the_rule_and_the_line(api: TestClient) -> None:
    report = inspect(api, "# Clean up\n\nrun `rm -rf /`")

    [finding, *_] = report["guard"]["findings"]
    assert (report["guard"]["allowed"], finding["line"]) == (False, 3)
    assert finding["rule_id"]


@pytest.mark.parametrize(
    ("other", "relation"),
    [
        ("The project codename is Zephyr.", "contradicts"),
        ("project codename: atlas", "same"),
        ("The office is in Oslo.", "unknown"),
    ],
)
def test_two_statements_are_compared(api: TestClient, other: str, relation: str) -> None:
    report = inspect(api, "The project codename is Atlas.", other=other)

    assert report["statement"]["relation"] == relation


def test_a_learning_that_says_otherwise_is_named(api: TestClient) -> None:
    stored = learn(api, "The project codename is Zephyr.")["learning_id"]

    statement = inspect(api, "The project codename is Atlas.")["statement"]

    assert statement["conflicts_with"] == stored
    assert statement["semantic_key"]


def test_the_policy_in_force_decides_and_shows_its_rules(api: TestClient) -> None:
    rule = {"name": "facts", "action": "publish_active", "kind": "fact", "min_confidence": 90}
    policy = {"mode": "enabled", "publication": {"rules": [rule]}}
    ok(api, "POST", "/v1/runtime/learning-policy", policy)

    unsure = inspect(api, "The office is in Oslo.", confidence=80)["policy"]
    sure = inspect(api, "The office is in Oslo.", confidence=95)["policy"]

    assert unsure["outlook"]["action"] == "manual_review"
    assert unsure["rules"][0]["mismatches"][0]["field"] == "min_confidence"
    assert sure["outlook"]["action"] == "publish_active"
    assert sure["outlook"]["matched_rule_name"] == "facts"


def test_nothing_of_a_text_is_stored(api: TestClient) -> None:
    inspect(api, "The office is in Oslo.")

    assert ok(api, "GET", "/v1/learning-candidates")["items"] == []


def test_a_text_has_a_limit(api: TestClient) -> None:
    long = api.post("/v1/lab/inspect", json={"text": "a" * 20_001})

    assert long.status_code == 400


def test_the_lab_needs_an_operator(guarded: TestClient) -> None:
    admin = {"Authorization": f"Bearer {ADMIN}"}
    made = guarded.post("/v1/tokens", json={"user_id": "vera", "role": "viewer"}, headers=admin)
    viewer = {"Authorization": f"Bearer {made.json()['token']}"}

    refused = guarded.post("/v1/lab/inspect", json={"text": "hello"}, headers=viewer)

    assert refused.status_code == 403
