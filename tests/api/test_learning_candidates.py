"""Candidates over HTTP: proposed, looked at, published, rejected, and what is refused."""

from typing import Any

from starlette.testclient import TestClient

from tests.api.conftest import ADMIN
from tests.api.test_resources import ok, refused
from tests.support.factories import make_session
from understudy.daemon.wiring import Daemon

PATH = "/v1/learning-candidates"
WORKSPACE = {"kind": "workspace", "id": "default"}
KEY = "api" + "-key: abc123456789"


def body(content: str = "X is blue", **changes: Any) -> dict[str, Any]:
    return {"scope": WORKSPACE, "kind": "fact", "content": content, **changes}


def propose(api: TestClient, content: str = "X is blue", **changes: Any) -> str:
    candidate_id: str = ok(api, "POST", PATH, body(content, **changes))["candidate_id"]
    return candidate_id


def publish(api: TestClient, candidate_id: str, **changes: Any) -> dict[str, Any]:
    published: dict[str, Any] = ok(api, "POST", f"{PATH}/{candidate_id}/publish", changes)
    return published


def learn(api: TestClient, content: str, **changes: Any) -> dict[str, Any]:
    named = {"scope": changes["scope"]} if "scope" in changes else {}
    return publish(api, propose(api, content, **changes), **named)


def test_a_publication_without_a_scope_is_for_the_one_that_is_suggested(api: TestClient) -> None:
    session = ok(api, "POST", "/v1/sessions", {})["session_id"]
    here = {"kind": "session", "id": session}
    said = {"scope": here, "source": {"session_id": session}}
    close = propose(api, "We close at five", **said)
    tabs = propose(api, "Use tabs in this session", kind="preference", **said)

    listed = ok(api, "GET", PATH)["items"]
    [first, second] = ok(api, "GET", "/v1/inbox?kind=candidate")["items"]

    assert [it["suggested_scope"] for it in listed] == [WORKSPACE, here]
    assert ok(api, "GET", f"{PATH}/{close}")["suggested_scope"] == WORKSPACE
    assert (first["tags"], second["tags"]) == (["fact", "workspace"], ["preference", "session"])
    assert publish(api, close)["scope"] == WORKSPACE
    assert publish(api, tabs)["scope"] == here
    assert "suggested_scope" not in ok(api, "GET", f"{PATH}/{close}")


def pointers(api: TestClient, path: str, wrong: object) -> list[str]:
    answer = api.post(path, json=wrong)
    assert answer.status_code == 400, answer.text
    return [error["pointer"] for error in answer.json()["errors"]]


def test_what_is_left_out_takes_its_default(api: TestClient) -> None:
    answer = api.post(PATH, json=body())
    assert answer.status_code == 200
    made = answer.json()
    assert made == {
        "candidate_id": made["candidate_id"],
        "origin": "api",
        "scope": WORKSPACE,
        "kind": "fact",
        "sensitivity": "scoped",
        "applies": "when_relevant",
        "content": "X is blue",
        "confidence": 80,
        "source": {},
        "evidence_refs": [],
        "created_at_ms": made["created_at_ms"],
        "state": "pending",
        "semantic_key": "x=blue",
        "subject_key": "x",
        "capture_path": "api",
        "derived_from_untrusted": False,
        "declined_before": False,
        "version": 1,
        "actions": ["publish", "reject"],
    }
    learning = publish(api, made["candidate_id"])
    assert (made["candidate_id"][:5], learning["learning_id"][:4]) == ("cand_", "lrn_")
    assert learning == {
        "learning_id": learning["learning_id"],
        "scope": WORKSPACE,
        "kind": "fact",
        "sensitivity": "scoped",
        "applies": "when_relevant",
        "content": "X is blue",
        "confidence": 80,
        "source": {},
        "evidence_refs": [],
        "source_candidate_id": made["candidate_id"],
        "created_at_ms": made["created_at_ms"],
        "published_at_ms": learning["published_at_ms"],
        "status": "active",
        "publish_tier": "active",
        "policy_decision": "manual",
        "policy_actor": "operator",
        "verification_status": "unverified",
        "semantic_key": "x=blue",
        "subject_key": "x",
        "derived_from_untrusted": False,
        "said_again": 0,
        "version": 1,
        "actions": ["revoke", "supersede"],
        "contradicts": [],
        "neighbours": [],
        "reach": {"scope": WORKSPACE, "words": "injected in every session of this daemon"},
    }
    decided = ok(api, "GET", f"{PATH}/{made['candidate_id']}")
    assert (decided["state"], decided["decided_by"]) == ("published", "local")
    assert decided["published_learning_id"] == learning["learning_id"]
    assert decided["actions"] == []
    first, second, *_ = [item["action"] for item in ok(api, "GET", "/v1/audit")["items"]]
    assert (first, second) == ("learning_candidates.publish", "learning_candidates.create")


def test_everything_that_can_be_said_is_kept(api: TestClient) -> None:
    said: dict[str, Any] = {
        "sensitivity": "sensitive",
        "confidence": 100,
        "source": {"run_id": "run_1", "input_event_offset": 3},
        "evidence_refs": [{"run_id": "run_1", "note": "second line"}, {"artifact_id": "art_1"}],
        "expires_at_ms": 2**52,
    }

    shown = ok(api, "GET", f"{PATH}/{propose(api, **said)}")

    assert {name: shown[name] for name in said} == said


# What is sent, and where the answer says that it is wrong.
WRONG: list[tuple[object, str]] = [
    ({}, "/scope"),
    ([], ""),
    (body(kind="rumour"), "/kind"),
    (body(kind=None), "/kind"),
    (body(kind="run_summary"), "/kind"),
    (body(scope={"kind": "galaxy", "id": "x"}), "/scope/kind"),
    (body(scope={"kind": "workspace", "id": "foo"}), "/scope"),
    (body(scope={"kind": "session", "id": ""}), "/scope"),
    (body(scope={"kind": "session", "id": " s1"}), "/scope"),
    (body(scope={"kind": "session"}), "/scope/id"),
    (body(scope="workspace"), "/scope"),
    (body(scope={"kind": "workspace", "id": "default", "more": 1}), "/scope/more"),
    (body(""), "/content"),
    (body(" \n "), "/content"),
    (body("x" * 1601), "/content"),
    (body(KEY), "/content"),
    (body(5), "/content"),  # type: ignore[arg-type]
    (body(sensitivity="public"), "/sensitivity"),
    (body(confidence=101), "/confidence"),
    (body(confidence=-1), "/confidence"),
    (body(confidence="80"), "/confidence"),
    (body(confidence=80.0), "/confidence"),
    (body(confidence=True), "/confidence"),
    (body(source={"run": "x"}), "/source/run"),
    (body(source={"run_id": 5}), "/source/run_id"),
    (body(source={"run_id": "x" * 501}), "/source/run_id"),
    (body(source={"input_event_offset": -1}), "/source/input_event_offset"),
    (body(evidence_refs={}), "/evidence_refs"),
    (body(evidence_refs=[{}] * 33), "/evidence_refs"),
    (body(evidence_refs=[{"note": 1}]), "/evidence_refs/0/note"),
    (body(expires_at_ms=-1), "/expires_at_ms"),
    (body(expires_at_ms=2**60), "/expires_at_ms"),
    (body(expires_at_ms="soon"), "/expires_at_ms"),
    (body(state="published"), "/state"),
    (body(origin="daemon"), "/origin"),
    (body(derived_from_untrusted=False), "/derived_from_untrusted"),
]


def test_a_wrong_candidate_is_refused_at_its_place_and_not_kept(api: TestClient) -> None:
    for wrong, place in WRONG:
        found = pointers(api, PATH, wrong)
        assert any(it.startswith(place) for it in found), (wrong, found)

    assert ok(api, "GET", PATH)["items"] == []


def test_the_bounds_belong_to_what_is_allowed(api: TestClient) -> None:
    for allowed in (body("x" * 1600), body(confidence=0), body(confidence=100)):
        assert api.post(PATH, json=allowed).status_code == 200


# What is asked, and whether it makes sense.
QUERIES = {
    "scope_id=s1": 400,
    "scope_kind=session": 400,
    "scope_kind=persona": 400,
    "scope_kind=project&scope_id=": 400,
    "scope_kind=workspace&scope_id=foo": 400,
    "scope_kind=workspace": 200,
    "scope_kind=workspace&scope_id=default": 200,
    "scope_kind=session&scope_id=s1": 200,
    "scope_kind=galaxy": 400,
    "kind=rumour": 400,
    "kind=run_summary": 200,
    "state=open": 400,
    "state=escalated": 200,
    "limit=0": 400,
    "cursor=x": 400,
    "query=" + "x" * 16_001: 400,
    "query=%00": 400,
    "query=%25_%5C": 200,
}


def test_a_filter_must_make_sense(api: TestClient) -> None:
    for query, status in QUERIES.items():
        assert api.get(f"{PATH}?{query}").status_code == status, query


def test_a_list_is_narrowed_and_paged(api: TestClient) -> None:
    blue = propose(api, "The sky is BLUE today")
    mine = propose(api, "tea", scope={"kind": "session", "id": "s1"}, kind="preference")
    percent = propose(api, "100% sure")

    def found(query: str) -> list[str]:
        return [item["candidate_id"] for item in ok(api, "GET", f"{PATH}?{query}")["items"]]

    assert found("") == [blue, mine, percent]
    assert found("query=blue") == [blue]
    assert found("query=session:s1") == [mine]
    assert found("query=PREFERENCE") == [mine]
    assert found("query=100%25") == [percent]
    assert found("query=%20") == [blue, mine, percent]
    assert found("scope_kind=session&scope_id=s1") == [mine]
    assert found("kind=preference") == [mine]
    assert found(f"candidate_id={percent}&candidate_id={blue}&candidate_id=cand_x") == [
        blue,
        percent,
    ]
    ok(api, "POST", f"{PATH}/{mine}/reject", {})
    assert found("state=rejected") == [mine]
    first = ok(api, "GET", f"{PATH}?limit=2")
    assert [item["candidate_id"] for item in first["items"]] == [blue, mine]
    second = ok(api, "GET", f"{PATH}?limit=2&cursor={first['next_cursor']}")
    assert [item["candidate_id"] for item in second["items"]] == [percent]
    assert second["next_cursor"] is None


def test_a_decision_stands_however_often_it_is_asked(api: TestClient) -> None:
    chosen, other = propose(api), propose(api, "Y is red")

    first = publish(api, chosen)
    assert publish(api, chosen) == first
    assert refused(api, "POST", f"{PATH}/{chosen}/reject", {}) == (
        409,
        "learnings/candidate_published",
    )
    rejected = ok(api, "POST", f"{PATH}/{other}/reject", {"reason": " not so "})
    assert (rejected["state"], rejected["decision_reason"]) == ("rejected", "not so")
    assert ok(api, "POST", f"{PATH}/{other}/reject") == rejected
    assert refused(api, "POST", f"{PATH}/{other}/publish") == (409, "learnings/candidate_rejected")
    for verb in ("publish", "reject"):
        assert refused(api, "POST", f"{PATH}/cand_none/{verb}") == (
            404,
            "learnings/candidate_not_found",
        )
    assert refused(api, "GET", f"{PATH}/cand_none")[0] == 404
    assert refused(api, "GET", f"{PATH}/cand_none/explain")[0] == 404


def test_a_reason_with_a_secret_is_refused_and_nothing_is_decided(api: TestClient) -> None:
    candidate_id = propose(api)

    assert pointers(api, f"{PATH}/{candidate_id}/reject", {"reason": KEY}) == ["/reason"]
    assert pointers(api, f"{PATH}/{candidate_id}/reject", {"why": "x"}) == ["/why"]
    assert ok(api, "GET", f"{PATH}/{candidate_id}")["state"] == "pending"


WRONG_PUBLICATIONS: list[tuple[dict[str, Any], str]] = [
    ({"publish_tier": "provisional", "supersedes": "lrn_1"}, "/publish_tier"),
    ({"publish_tier": "gold"}, "/publish_tier"),
    ({"content": KEY}, "/content"),
    ({"content": ""}, "/content"),
    ({"content": "x" * 1601}, "/content"),
    ({"confidence": 101}, "/confidence"),
    ({"scope": {"kind": "workspace", "id": "foo"}}, "/scope"),
    ({"kind": "run_summary"}, "/kind"),
    ({"kind": "rumour"}, "/kind"),
    ({"expires_at_ms": -1}, "/expires_at_ms"),
    ({"evidence_refs": [{"x": 1}]}, "/evidence_refs/0/x"),
    ({"supersedes": 5}, "/supersedes"),
    ({"status": "active"}, "/status"),
]


def test_a_wrong_publication_is_refused_and_changes_nothing(api: TestClient) -> None:
    candidate_id = propose(api)

    for wrong, place in WRONG_PUBLICATIONS:
        found = pointers(api, f"{PATH}/{candidate_id}/publish", wrong)
        assert any(it.startswith(place) for it in found), (wrong, found)

    assert ok(api, "GET", f"{PATH}/{candidate_id}")["state"] == "pending"
    assert ok(api, "GET", "/v1/learnings")["items"] == []
    assert refused(api, "POST", f"{PATH}/{candidate_id}/publish", {"supersedes": "lrn_none"}) == (
        404,
        "learnings/learning_not_found",
    )


def test_whoever_publishes_may_put_it_otherwise(api: TestClient) -> None:
    candidate_id = propose(api, evidence_refs=[{"note": "as proposed"}])

    published = publish(
        api,
        candidate_id,
        content="Y is green.",
        kind="decision",
        confidence=50,
        sensitivity="sensitive",
        publish_tier="provisional",
        scope={"kind": "project", "id": "p1"},
        expires_at_ms=2**52,
    )

    assert published["content"] == "Y is green."
    assert (published["kind"], published["confidence"]) == ("decision", 50)
    assert (published["status"], published["publish_tier"]) == ("provisional", "provisional")
    assert published["scope"] == {"kind": "project", "id": "p1"}
    assert published["expires_at_ms"] == 2**52
    assert published["evidence_refs"] == [{"note": "as proposed"}]


def test_the_same_said_again_is_one_learning(api: TestClient) -> None:
    first = learn(api, "Project codename is Atlas.")

    for again in ("project codename: atlas", "The project codename = ATLAS;"):
        candidate_id = propose(api, again)
        assert (
            ok(api, "GET", f"{PATH}/{candidate_id}")["duplicate_of"]["learning_id"]
            == (first["learning_id"])
        )
        assert publish(api, candidate_id)["learning_id"] == first["learning_id"]
        shown = ok(api, "GET", f"{PATH}/{candidate_id}")
        assert shown["published_learning_id"] == first["learning_id"]

    assert len(ok(api, "GET", "/v1/learnings")["items"]) == 1


def test_another_value_of_the_same_subject_must_replace_the_first(api: TestClient) -> None:
    first = learn(api, "Project codename is Atlas.")["learning_id"]
    candidate_id = propose(api, "Project codename is Borealis.")

    item = ok(api, "GET", f"{PATH}/{candidate_id}")
    assert item["conflicts_with"] == {
        "learning_id": first,
        "scope": WORKSPACE,
        "status": "active",
        "content": "Project codename is Atlas.",
    }
    answer = api.post(f"{PATH}/{candidate_id}/publish", json={})
    assert (answer.status_code, answer.json()["code"]) == (409, "learning_conflict")
    assert answer.json()["params"] == {"learning_id": first}
    assert ok(api, "GET", f"{PATH}/{candidate_id}")["state"] == "pending"

    second = publish(api, candidate_id, supersedes=first)

    assert second["supersedes"] == first
    old = ok(api, "GET", f"/v1/learnings/{first}")
    assert (old["status"], old["superseded_by"]) == ("superseded", second["learning_id"])
    assert old["actions"] == ["revoke"]


def test_another_scope_that_says_otherwise_is_told_of(daemon: Daemon, api: TestClient) -> None:
    with daemon.resources.units.write() as unit:
        unit.sessions.add(make_session("s1"))
    wide = learn(api, "Project codename is Atlas.")
    candidate_id = propose(
        api, "Project codename is Borealis.", scope={"kind": "session", "id": "s1"}
    )

    item = ok(api, "GET", f"{PATH}/{candidate_id}")
    published = publish(api, candidate_id)

    assert "conflicts_with" not in item
    for told in (item, published):
        assert [it["learning_id"] for it in told["contradicts"]] == [wide["learning_id"]]
    assert published["status"] == "active"


def test_what_a_person_rejected_is_shown_to_the_next(api: TestClient) -> None:
    first = propose(api, "Office is in Lyon.")
    ok(api, "POST", f"{PATH}/{first}/reject", {"reason": "it moved"})

    item = ok(api, "GET", f"{PATH}/{propose(api, 'office: in Lyon')}")

    (before,) = item["rejected_before"]
    assert (before["candidate_id"], before["decided_by"], before["reason"]) == (
        first,
        "local",
        "it moved",
    )


def test_the_next_one_is_the_oldest_that_waits(api: TestClient) -> None:
    assert ok(api, "GET", f"{PATH}/next") == {"item": None}
    first, second, third = (propose(api, f"fact {n}") for n in range(3))
    ok(api, "POST", f"{PATH}/{first}/reject")

    item = ok(api, "GET", f"{PATH}/next")["item"]
    after = ok(api, "GET", f"{PATH}/next?after={second}")["item"]

    assert (item["candidate_id"], item["rejected_before"]) == (second, [])
    assert after["candidate_id"] == third
    assert ok(api, "GET", f"{PATH}/next?after={third}") == {"item": None}


def test_the_policy_explains_itself_rule_by_rule(api: TestClient) -> None:
    rules = [
        {"name": "facts of sessions", "kind": "fact", "scope_kind": "session", "action": "reject"},
        {"name": "out", "kind": "fact", "action": "reject"},
        {"name": "facts", "kind": "fact", "action": "publish_active", "expires_after_ms": 1000},
        {"action": "reject"},
    ]
    publication = {"rules": rules, "quarantined_rule_names": [" OUT "]}
    ok(api, "POST", "/v1/runtime/learning-policy", {"publication": publication})
    candidate_id = propose(api)

    told = ok(api, "GET", f"{PATH}/{candidate_id}/explain")

    assert (told["candidate_id"], told["mode"]) == (candidate_id, "shadow")
    assert told["policy_revision"] == 2
    assert (told["action"], told["matched_rule_name"]) == ("publish_provisional", "facts")
    assert [(it["matched"], it["quarantined"], it["decided"]) for it in told["rules"]] == [
        (False, False, False),
        (True, True, False),
        (True, False, True),
        (True, False, False),
    ]
    assert told["rules"][0]["mismatches"] == [
        {"field": "scope_kind", "wanted": "session", "had": "workspace"}
    ]
    assert "name" not in told["rules"][3]
    (step,) = told["adjustments"]
    assert (step["code"], step["before"], step["after"]) == (
        "api_origin",
        "publish_active",
        "publish_provisional",
    )
    assert told["expires_at_ms"] > 0


def test_many_are_tried_and_then_decided(api: TestClient) -> None:
    learn(api, "Project codename is Atlas.")
    good = propose(api, "Office is in Lyon.")
    conflicting = propose(api, "Project codename is Borealis.")
    bulk = {"action": "publish", "candidate_ids": [good, conflicting, "cand_none"]}

    tried = ok(api, "POST", f"{PATH}/bulk", {**bulk, "dry_run": True})

    assert [(it["candidate_id"], it["done"], it.get("code")) for it in tried["items"]] == [
        (good, True, None),
        (conflicting, False, "learning_conflict"),
        ("cand_none", False, "candidate_not_found"),
    ]
    assert (tried["dry_run"], tried["done_count"], tried["refused_count"]) == (True, 1, 2)
    assert len(ok(api, "GET", "/v1/learnings")["items"]) == 1

    done = ok(api, "POST", f"{PATH}/bulk", {**bulk, "publish_tier": "provisional"})

    assert done["items"][0]["learning_id"].startswith("lrn_")
    assert (done["action"], done["dry_run"], done["has_more"]) == ("publish", False, False)
    learnings = ok(api, "GET", "/v1/learnings?status=provisional")["items"]
    assert [it["learning_id"] for it in learnings] == [done["items"][0]["learning_id"]]
    rejected = ok(api, "POST", f"{PATH}/bulk", {"action": "reject", "filter": {"state": "pending"}})
    assert [(it["candidate_id"], it["done"]) for it in rejected["items"]] == [(conflicting, True)]


WRONG_BULK: list[tuple[dict[str, Any], str | None]] = [
    ({"action": "publish"}, None),
    ({"action": "publish", "filter": {}}, None),
    ({"action": "publish", "filter": {"query": " "}}, None),
    ({"action": "forget", "candidate_ids": ["x"]}, "/action"),
    ({"action": "reject", "candidate_ids": []}, "/candidate_ids"),
    ({"action": "reject", "candidate_ids": ["x"] * 201}, "/candidate_ids"),
    ({"action": "reject", "candidate_ids": ["x"], "filter": {"state": "pending"}}, "/filter"),
    ({"action": "reject", "candidates": []}, "/candidates"),
    ({"action": "reject", "candidates": [{"candidate_id": "x"}] * 201}, "/candidates"),
    ({"action": "reject", "candidates": [{"version": 1}]}, "/candidates/0/candidate_id"),
    (
        {"action": "reject", "candidate_ids": ["x"], "candidates": [{"candidate_id": "x"}]},
        "/candidates",
    ),
    ({"action": "reject", "filter": {"state": "open"}}, "/filter/state"),
    ({"action": "reject", "filter": {"scope_id": "s1"}}, "/filter/scope_id"),
    ({"action": "reject", "filter": {"scope_kind": "session"}}, "/filter/scope_id"),
    ({"action": "reject", "filter": {"more": 1}}, "/filter/more"),
    ({"action": "reject", "candidate_ids": ["x"], "reason": KEY}, "/reason"),
    ({"action": "reject", "candidate_ids": ["x"], "dry_run": 1}, "/dry_run"),
]


def test_a_wrong_bulk_decision_is_refused(api: TestClient) -> None:
    candidate_id = propose(api)

    for wrong, place in WRONG_BULK:
        answer = api.post(f"{PATH}/bulk", json=wrong)
        assert answer.status_code == 400, (wrong, answer.text)
        found = [error["pointer"] for error in answer.json().get("errors", ())]
        assert place is None or place in found, (wrong, found)

    assert ok(api, "GET", f"{PATH}/{candidate_id}")["state"] == "pending"


def test_a_repeat_under_the_same_key_proposes_once(api: TestClient) -> None:
    headers = {"Idempotency-Key": "once"}

    first = api.post(PATH, json=body(), headers=headers)
    again = api.post(PATH, json=body(), headers=headers)
    other = api.post(PATH, json=body("Y is red"), headers=headers)

    assert again.json() == first.json()
    assert again.headers["Idempotency-Replayed"] == "true"
    assert (other.status_code, other.json()["code"]) == (409, "idempotency_conflict")
    assert len(ok(api, "GET", PATH)["items"]) == 1


def test_a_content_that_is_too_long_is_refused_before_secrets_are_searched_in_it(
    api: TestClient,
) -> None:
    secret = "gh" + "p_" + "a1B2c3D4e5" * 3 + "f6G7h8"
    path = f"{PATH}/{propose(api)}/publish"

    answer = api.post(path, json={"content": secret + " word" * 10_000})

    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_content")


def test_a_secret_is_refused_also_where_it_is_given_as_an_id(api: TestClient) -> None:
    token = "gh" + "p_" + "a1B2c3D4e5" * 3 + "f6G7h8"
    places: dict[str, dict[str, Any]] = {
        "/source/derivation_id": {"source": {"derivation_id": token}},
        "/source/run_id": {"source": {"run_id": token}},
        "/evidence_refs/0/artifact_id": {"evidence_refs": [{"artifact_id": token}]},
        "/scope/id": {"scope": {"kind": "session", "id": token}},
    }
    for place, fields in places.items():
        answer = api.post(PATH, json=body(**fields))
        assert (answer.status_code, answer.json()["code"]) == (400, "secret_content"), place
        assert [error["pointer"] for error in answer.json()["errors"]] == [place]
        assert token not in answer.text
    candidate_id = propose(api)
    override = {"evidence_refs": [{"artifact_id": token}]}
    assert pointers(api, f"{PATH}/{candidate_id}/publish", override) == [
        "/evidence_refs/0/artifact_id"
    ]
    assert [it["candidate_id"] for it in ok(api, "GET", PATH)["items"]] == [candidate_id]


def test_viewers_look_operators_decide_and_only_admins_do_everything(guarded: TestClient) -> None:
    admin = {"Authorization": f"Bearer {ADMIN}"}
    tokens = {
        role: guarded.post(
            "/v1/tokens", json={"user_id": role, "role": role}, headers=admin
        ).json()["token"]
        for role in ("viewer", "operator")
    }

    def status(role: str, method: str, path: str, sent: object = None) -> int:
        headers = {"Authorization": f"Bearer {tokens[role]}"}
        return guarded.request(method, path, json=sent, headers=headers).status_code

    policy = "/v1/runtime/learning-policy"
    assert guarded.get(PATH).status_code == guarded.post(PATH, json=body()).status_code == 401
    for path in (PATH, f"{PATH}/next", "/v1/learnings", policy, f"{policy}/revisions"):
        assert status("viewer", "GET", path) == 200, path
    for path in (PATH, f"{PATH}/x/publish", f"{PATH}/x/reject", f"{PATH}/bulk"):
        assert status("viewer", "POST", path, {}) == 403, path
    for path in ("x/revoke", "x/supersede", "revoke-matching"):
        assert status("viewer", "POST", f"/v1/learnings/{path}", {}) == 403, path
    assert status("operator", "POST", PATH, body()) == 200
    assert status("operator", "POST", "/v1/learnings/revoke-matching", {"kind": "fact"}) == 200
    assert status("operator", "POST", "/v1/learnings/revoke-matching", {"all": True}) == 403
    tried = {"policy": {"mode": "enabled"}}
    assert status("viewer", "POST", f"{policy}/dry-run", tried) == 403
    assert status("operator", "POST", f"{policy}/dry-run", tried) == 200
    assert status("operator", "POST", policy, {"mode": "enabled"}) == 403
    assert status("operator", "POST", f"{policy}/rollback", {}) == 403


def test_a_damaged_candidate_is_missing_from_lists_and_told_by_itself(
    daemon: Daemon, api: TestClient
) -> None:
    broken, whole = propose(api), propose(api, "Y is red")
    with daemon.resources.database.begin() as connection:
        connection.exec_driver_sql(
            "UPDATE learning_candidates SET body = '{}' WHERE candidate_id = ?", (broken,)
        )

    assert [it["candidate_id"] for it in ok(api, "GET", PATH)["items"]] == [whole]
    assert refused(api, "GET", f"{PATH}/{broken}") == (503, "storage/record_damaged")
