"""Why each learning in sight would or would not reach a prompt, over HTTP."""

from typing import Any
from urllib.parse import quote

import pytest
from starlette.testclient import TestClient

from tests.api.test_learning_candidates import learn
from tests.api.test_resources import ok, refused

SESSION = {"kind": "session", "id": "s1"}


@pytest.fixture
def sighted(api: TestClient) -> TestClient:
    """An API with session `s1` in project `p1`, bound to persona `guide`."""
    ok(api, "POST", "/v1/personas", {"persona_id": "guide"})
    for session_id in ("s1", "s2"):
        ok(api, "POST", "/v1/sessions", {"session_id": session_id, "persona_id": "guide"})
    members = [{"member_id": "s1"}]
    ok(api, "POST", "/v1/projects", {"project_id": "p1", "display_name": "P", "members": members})
    return api


def ask(api: TestClient, kind: str, query: str | None = None) -> Any:
    asked = "" if query is None else f"?query={quote(query)}"
    return ok(api, "GET", f"/v1/sessions/s1/{kind}{asked}")


def explained(api: TestClient, query: str | None = None) -> dict[str, dict[str, Any]]:
    return {entry["source_id"]: entry for entry in ask(api, "memory-explain", query)["entries"]}


def test_every_learning_in_sight_is_told_of_and_no_other(sighted: TestClient) -> None:
    kept = [
        learn(sighted, f"The colour number {n} is red.", scope=scope)["learning_id"]
        for n, scope in enumerate(
            (
                SESSION,
                {"kind": "persona", "id": "guide"},
                {"kind": "project", "id": "p1"},
                {"kind": "workspace", "id": "default"},
            )
        )
    ]
    learn(sighted, "The colour is green.", scope={"kind": "session", "id": "s2"})

    answer = ask(sighted, "memory-explain")

    assert [entry["learning_id"] for entry in answer["entries"]] == kept
    assert [entry["rank"] for entry in answer["entries"]] == [1, 2, 3, 4]
    assert all(entry["injected"] and entry["reasons"] == [] for entry in answer["entries"])
    assert all(entry["kind"] == "learning" for entry in answer["entries"])
    assert answer["learning_scopes"][0] == SESSION
    assert answer["truncated"] is False
    context = ask(sighted, "memory-context")["learned_context"]["entries"]
    assert [entry["learning_id"] for entry in context] == kept


def test_each_reason_that_keeps_a_learning_out_is_named(sighted: TestClient) -> None:
    def out(content: str, **changes: Any) -> str:
        learning_id: str = learn(sighted, content, scope=SESSION, **changes)["learning_id"]
        return learning_id

    told = out("Atlas project color is vermilion.")
    elsewhere = out("Default snack is banana.")
    procedure = out("To paint Atlas, mix the color.", kind="procedure")
    secret = out("The Atlas color costs a fortune.", sensitivity="sensitive")
    revoked = out("Atlas color pots are empty.")
    ok(sighted, "POST", f"/v1/learnings/{revoked}/revoke")
    wide = learn(sighted, "Atlas project color is teal.")["learning_id"]

    found = explained(sighted, "What color is Atlas?")

    assert found[told]["injected"] is True
    assert found[told]["reason"] == "included"
    assert found[told]["score"] > 0
    assert found[told]["tokens"] > 0
    terms = {term for match in found[told]["matches"] for term in match["terms"]}
    assert {"atlas", "color"} <= terms
    assert found[elsewhere]["reasons"] == ["no_match"]
    assert found[wide]["reasons"] == ["overridden_by_narrower_scope"]
    for learning_id in (elsewhere, procedure, secret, revoked, wide):
        entry = found[learning_id]
        assert entry["injected"] is False
        assert entry["reasons"][0] == entry["reason"]
        assert entry["explanation"]
    assert "text" not in found[secret]
    # A score, a length or a missing `no_match` would tell what is in it.
    assert found[secret]["reasons"] == ["sensitive"]
    hidden = {name: found[secret][name] for name in ("score", "coverage", "matches", "tokens")}
    assert hidden == {"score": 0, "coverage": 0, "matches": [], "tokens": 0}
    assert found[secret]["rank"] > found[told]["rank"]
    assert explained(sighted, "no such thing")[secret]["reasons"] == ["sensitive"]
    assert "fortune" not in str(found)
    context = ask(sighted, "memory-context", "What color is Atlas?")["learned_context"]
    assert [entry["learning_id"] for entry in context["entries"]] == [told]


def test_nothing_is_told_where_nothing_matches_unless_memory_is_asked_for(
    sighted: TestClient,
) -> None:
    wide = learn(sighted, "Atlas project color is vermilion.")["learning_id"]
    narrow = learn(sighted, "Default snack preference is banana.", scope=SESSION)["learning_id"]

    assert "learned_context" not in ask(sighted, "memory-context", "What is the status?")
    assert "learned_context" not in ask(sighted, "memory-context", "workspace fact")
    assert {it["injected"] for it in explained(sighted, "workspace fact").values()} == {False}
    for query in ("what do you remember", "Use durable memory if it exists.", "Utilise la mémoire"):
        context = ask(sighted, "memory-context", query)["learned_context"]
        assert [entry["learning_id"] for entry in context["entries"]] == [narrow, wide], query
        assert all(it["injected"] for it in explained(sighted, query).values())


def test_a_search_lists_what_may_be_found_and_says_what_a_prompt_may_have(
    sighted: TestClient,
) -> None:
    atlas = learn(sighted, "Project codename is Atlas.")["learning_id"]
    procedure = learn(sighted, "To find Atlas, look up.", kind="procedure")["learning_id"]
    learn(sighted, "Atlas is a secret matter.", sensitivity="sensitive")

    results = {it["source_id"]: it for it in ask(sighted, "memory-search", "atlas")["results"]}

    assert set(results) == {atlas, procedure}
    assert results[atlas]["prompt_eligible"] is True
    assert results[procedure]["prompt_eligible"] is False
    assert results[atlas]["matched_fields"] == ["content"]
    assert (results[atlas]["learning_status"], results[atlas]["publish_tier"]) == (
        "active",
        "active",
    )
    assert results[atlas]["verification_status"] == "unverified"
    assert results[atlas]["scope"] == {"kind": "workspace", "id": "default"}


def test_a_wrong_question_is_refused(sighted: TestClient) -> None:
    assert refused(sighted, "GET", "/v1/sessions/none/memory-explain")[0] == 404
    long = "x" * 16_001
    assert refused(sighted, "GET", f"/v1/sessions/s1/memory-explain?query={long}")[0] == 400
